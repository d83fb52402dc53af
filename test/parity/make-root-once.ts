import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** The root file system that both sides run; next to it, with `-noname` at its end, the same without a name for user 1000. */
    parityRoot: string;
  }
}

const scripts = ['make-root.sh', 'fixtures.sh'].map((name) => join(import.meta.dirname, name));

/** Makes the root file system, or finds it in the cache by a hash of the scripts. Takes some minutes and 1.2 GB once. */
export default function makeRootOnce(project: TestProject): void {
  const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'corral');
  const hash = createHash('sha256');
  for (const script of scripts) hash.update(readFileSync(script));
  const root = join(cache, `parity-${hash.digest('hex').slice(0, 12)}`, 'root');
  if (!existsSync(root)) make(root);
  project.provide('parityRoot', root);
}

function make(root: string): void {
  const folder = join(root, '..');
  const building = `${folder}.building`;
  rmSync(building, { recursive: true, force: true });
  mkdirSync(building, { recursive: true, mode: 0o755 });
  process.stderr.write(`parity: making the root file system in ${folder}; this takes some minutes once\n`);
  const { status } = spawnSync('sh', [scripts[0] ?? '', join(building, 'root')], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  if (status !== 0)
    throw new Error(
      'the root file system could not be made; see above. It takes root, mmdebstrap, npm, and a Debian mirror (MIRROR names another)',
    );
  renameSync(building, folder);
}
