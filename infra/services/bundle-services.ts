import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { type InputOptions, rolldown } from 'rolldown';
import { bundlePage } from '../console/bundle.ts';
import { buildOnce } from '../payload/build-once.ts';
import type { Built } from '../payload/publish-once.ts';
import { repository } from '../payload/repository.ts';

const services = ['gateway', 'controller', 'node', 'console'] as const;

const sourceOf = (service: string) => join(repository, 'services', service, 'main.ts');

/** The program that node starts for each sandbox with package mirrors. */
const mirrorProxy = join(repository, 'services/node/mirrors/proxy/main.ts');

/** What the bundles are made of, and how. The lock file stands for the packages. */
const sources = [
  ...services.map((service) => `services/${service}/**/*.ts`),
  // Of the console: how commands read fleets.
  'cli/{stories,gateway}/*.ts',
  'src/**/*.{ts,lua}',
  'console/**/*.{ts,tsx,css}',
  'infra/{console,services}/*.ts',
  'infra/payload/**/*.ts',
  'package.json',
  'package-lock.json',
];

/** In the checkout, because a fleet of the same sources finds them there. */
const targetDir = join(repository, 'out/services');

/**
 * Bundles the services, or finds them bundled. A gateway that reads its 900 modules one by one takes 1.2 s
 * of processor time to start, and 0.35 s as a bundle; so does each one that replaces another.
 */
export function bundleServices(): Promise<Built> {
  return buildOnce(targetDir, { name: 'services', sources, build: bundle });
}

function bundle(dir: string): Promise<void> {
  const input = Object.fromEntries(services.map((service) => [service, sourceOf(service)]));
  return bundleInto(dir, { input: { ...input, 'mirror-proxy': mirrorProxy } });
}

/** Writes each of `input` as `NAME.mjs` into `dir`, next to the modules that they share, the console's page and the scripts for Redis. */
export async function bundleInto(
  dir: string,
  options: Pick<InputOptions, 'input' | 'external' | 'plugins'>,
): Promise<void> {
  const bundled = await rolldown({ ...options, platform: 'node', cwd: repository, logLevel: 'silent' });
  try {
    // White space stays: the lines of stack traces are read in these files.
    await bundled.write({ dir, entryFileNames: '[name].mjs', chunkFileNames: '[name]-[hash].mjs' });
  } finally {
    await bundled.close();
  }
  await bundlePage(dir);
  // Redis is given their text, which the services read at their start, beside themselves.
  await cp(join(repository, 'src/adapters/redis/scripts'), join(dir, 'scripts'), {
    recursive: true,
    filter: (path) => !path.endsWith('.ts'),
  });
}
