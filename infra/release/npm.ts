import { execFile } from 'node:child_process';
import { chmod, cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { repository } from '../payload/repository.ts';
import type { Origin } from './origin.ts';

const run = promisify(execFile);

type Manifest = {
  readonly description: string;
  readonly license: string;
  readonly optionalDependencies: Readonly<Record<string, string>>;
};

/** The npm packages of the TypeScript client and of the command line, which brings the whole fleet along. */
export async function buildNpm(
  origin: Origin,
  distribution: string,
  outDir: string,
): Promise<readonly string[]> {
  await mkdir(outDir, { recursive: true });
  const folder = await mkdtemp(join(tmpdir(), 'corral-npm-'));
  try {
    await cp(distribution, folder, { recursive: true });
    await writeFile(join(folder, 'package.json'), await cliManifest(origin));
    await cp(join(repository, 'infra/release/npm/README.md'), join(folder, 'README.md'));
    await cp(join(repository, 'infra/release/npm/corral'), join(folder, 'bin/corral'));
    await chmod(join(folder, 'bin/corral'), 0o755);
    return [await pack(folder, outDir), await pack(join(repository, 'clients/typescript'), outDir)];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** npm gives every file the same time, and the owner of none. */
async function pack(folder: string, outDir: string): Promise<string> {
  const { stdout } = await run('npm', ['pack', '--silent', '--pack-destination', outDir, folder], {
    cwd: repository,
  });
  return join(outDir, stdout.trim().split('\n').at(-1) ?? '');
}

/** It brings its own Node: the optional package of this machine's architecture. */
async function cliManifest({ version }: Origin): Promise<string> {
  const own = JSON.parse(await readFile(join(repository, 'package.json'), 'utf8')) as Manifest;
  const { description, license, optionalDependencies } = own;
  const manifest = {
    name: 'corral-cli',
    version,
    description,
    license,
    type: 'module',
    bin: { corral: 'bin/corral' },
    os: ['linux'],
    optionalDependencies,
    engines: { node: '>=20' },
  };
  return `${JSON.stringify(manifest, null, 2)}\n`;
}
