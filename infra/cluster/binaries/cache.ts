import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { link, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { goBuild, moduleFiles, moduleFolder, moduleNames, requireGo } from './go.ts';
import { linkerFlags, type Program, requiredVersion } from './programs.ts';

export type Told = (line: string) => void;

/**
 * The folder of built programs. Its name holds a hash of what they are built from, so another checkout with the same
 * modules finds them, and a changed one has its own.
 */
export async function programsFolder(): Promise<string> {
  const hashes = await Promise.all((await moduleNames()).map(hashOfModule));
  return join(cacheFolder(), `cluster-${shortHash(hashes)}`);
}

/** Builds what is missing of `programs` and returns their folder. Tells a line before and after each build. */
export async function ensurePrograms(programs: readonly Program[], told: Told): Promise<string> {
  const folder = await programsFolder();
  const missing = programs.filter(({ name }) => !existsSync(join(folder, name)));
  if (missing.length === 0) return folder;
  await mkdir(folder, { recursive: true });
  for (const [index, program] of missing.entries()) {
    const kept = await keptProgram(program);
    if (!existsSync(kept)) await build(program, kept, told, `${index + 1} of ${missing.length}`);
    await linkInto(folder, program.name, kept);
  }
  told(`all programs are in ${folder}`);
  return folder;
}

export async function kubernetesVersion(): Promise<string> {
  const goMod = await readFile(join(moduleFolder('kubernetes'), 'go.mod'), 'utf8');
  return requiredVersion(goMod, 'k8s.io/kubernetes');
}

/** A text that comes with a module, kept beside the programs: a machine which has those needs no module cache. */
export async function keptText(programs: string, name: string, make: () => Promise<string>): Promise<string> {
  const file = join(programs, name);
  if (!existsSync(file)) {
    const building = `${file}.${process.pid}`;
    await writeFile(building, await make());
    await rename(building, file);
  }
  return readFile(file, 'utf8');
}

const cacheFolder = (): string => join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'corral');

/** Each program is kept by what its own module says, so that a new one does not cost building all the others again. */
async function keptProgram({ name, module, package: built }: Program): Promise<string> {
  return join(cacheFolder(), 'programs', `${name}-${shortHash([await hashOfModule(module), built])}`);
}

async function build(program: Program, output: string, told: Told, count: string): Promise<void> {
  await requireGo();
  told(`building ${program.name} (${count}), ${program.firstBuild} the first time`);
  const startedMs = performance.now();
  await mkdir(join(output, '..'), { recursive: true });
  await builtBeside(output, async (building) =>
    goBuild({ ...program, linkerFlags: linkerFlags(await kubernetesVersion()), output: building }),
  );
  told(`built ${program.name} in ${Math.round((performance.now() - startedMs) / 1000)} s`);
}

const linkInto = (folder: string, name: string, kept: string): Promise<void> =>
  builtBeside(join(folder, name), (building) => link(kept, building));

/** Made beside and renamed: whoever looks finds a whole program or none, and two builders may race. */
async function builtBeside(output: string, make: (building: string) => Promise<void>): Promise<void> {
  const building = `${output}.building-${process.pid}`;
  try {
    await make(building);
    await rename(building, output);
  } finally {
    await rm(building, { force: true });
  }
}

async function hashOfModule(module: string): Promise<string> {
  return shortHash([process.arch, module, ...(await moduleFiles(module))]);
}

function shortHash(parts: readonly (string | Buffer)[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest('hex').slice(0, 12);
}
