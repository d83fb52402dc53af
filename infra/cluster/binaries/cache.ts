import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { goBuild, moduleFolder, requireGo } from './go.ts';
import { clusterPrograms, kwok, linkerFlags, requiredVersion } from './programs.ts';
import type { Program } from './programs.ts';

export type Told = (line: string) => void;

/**
 * The folder of built programs. Its name holds a hash of what they are built from, so another checkout with the same
 * go.mod and go.sum finds them, and a changed one builds its own.
 */
export async function programsFolder(): Promise<string> {
  const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache');
  const hash = createHash('sha256').update(process.arch);
  for (const module of new Set([...clusterPrograms, kwok].map((program) => program.module))) {
    for (const file of ['go.mod', 'go.sum']) hash.update(await readFile(join(moduleFolder(module), file)));
  }
  for (const program of [...clusterPrograms, kwok]) hash.update(program.package);
  return join(cache, 'corral', `cluster-${hash.digest('hex').slice(0, 12)}`);
}

/** Builds what is missing of `programs` and returns their folder. Tells a line before each build, and when all is built. */
export async function ensurePrograms(programs: readonly Program[], told: Told): Promise<string> {
  const folder = await programsFolder();
  const missing = programs.filter(({ name }) => !existsSync(join(folder, name)));
  if (missing.length === 0) return folder;
  await requireGo();
  await mkdir(folder, { recursive: true });
  const flags = linkerFlags(await kubernetesVersion());
  for (const [index, program] of missing.entries()) {
    told(
      `building ${program.name} (${index + 1} of ${missing.length}), ${program.firstBuild} the first time`,
    );
    await buildInto(folder, program, flags);
  }
  told(`built into ${folder}`);
  return folder;
}

export async function kubernetesVersion(): Promise<string> {
  const goMod = await readFile(join(moduleFolder('kubernetes'), 'go.mod'), 'utf8');
  return requiredVersion(goMod, 'k8s.io/kubernetes');
}

/** Built beside and renamed: whoever looks finds a whole program or none, and two builders may race. */
async function buildInto(folder: string, program: Program, flags: string): Promise<void> {
  const building = join(folder, `.building-${program.name}-${process.pid}`);
  try {
    await goBuild({ ...program, linkerFlags: flags, output: building });
    await rename(building, join(folder, program.name));
  } finally {
    await rm(building, { force: true });
  }
}
