import { chmod, cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { nativePrograms } from '#src/protocol/sandboxd/payload-layout.ts';
import { buildOnce } from '../payload/build-once.ts';
import { bundleSandboxd } from '../payload/bundle.ts';
import { architectures, nativeFile } from '../payload/native/compile.ts';
import type { Built } from '../payload/publish-once.ts';
import { repository } from '../payload/repository.ts';
import { bundlePrograms } from './bundle-programs.ts';
import { licenses } from './licenses.ts';

/** All that goes in. The lock file stands for the packages. */
const sources = [
  'cli/**/*.ts',
  'console/**/*.{ts,tsx,css}',
  'services/**/*.ts',
  'src/**/*.{ts,lua}',
  'infra/{console,distribution,payload,services}/**/*.ts',
  'infra/payload/native/*',
  'environments/shell{.yaml,/*}',
  'schemas/*',
  'package.json',
  'package-lock.json',
  'LICENSE',
];

/**
 * Corral as it is shipped, in images and to npm, below `targetDir`:
 *
 *   corral.mjs        the command line
 *   gateway.mjs, …    the services, and the modules that they share
 *   page/             the console's page
 *   scripts/          what the services give to Redis
 *   sandboxd/         the payload's code, and native/ its compiled programs for each architecture
 *   environments/     one to try, on one machine
 *   schemas/          of environments, policies and cluster files, for editors
 *   LICENSE, THIRD-PARTY-LICENSES
 *
 * It needs Node and no package. It is the same for every architecture.
 */
export function buildDistribution(targetDir: string): Promise<Built> {
  return buildOnce(targetDir, { name: 'distribution', sources, build });
}

async function build(dir: string): Promise<void> {
  await bundlePrograms(dir);
  await bundleSandboxd(join(dir, 'sandboxd'));
  await copyNative(join(dir, 'native'));
  await copyExample(join(dir, 'environments'));
  for (const name of ['schemas', 'LICENSE'])
    await cp(join(repository, name), join(dir, name), { recursive: true });
  await writeFile(join(dir, 'THIRD-PARTY-LICENSES'), await licenses());
}

async function copyExample(folder: string): Promise<void> {
  for (const part of ['shell.yaml', 'shell'])
    await cp(join(repository, 'environments', part), join(folder, part), { recursive: true });
}

async function copyNative(folder: string): Promise<void> {
  await mkdir(folder);
  for (const architecture of architectures) {
    for (const program of nativePrograms) {
      const file = join(folder, `${program}-${architecture}`);
      await writeFile(file, await readFile(nativeFile(program, architecture)));
      await chmod(file, 0o755);
    }
  }
}
