import { createHash } from 'node:crypto';
import { cpSync, existsSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { packagesFolder } from '../generators/ship-code/packages.ts';
import { cacheFolder, cacheLocked } from '../locked-packages.ts';

const lockFolder = join(import.meta.dirname, 'packages');

/** Puts the packages of the lock where the builds of data read them, git-ignored: those of another lock are replaced. */
export function fetchPackages(): void {
  const lock = readFileSync(join(lockFolder, 'package-lock.json'));
  const cache = cacheFolder(`ship-code-${createHash('sha256').update(lock).digest('hex').slice(0, 16)}`);
  if (isOf(lock)) return;
  if (!existsSync(cache)) cacheLocked(lockFolder, cache);
  const fresh = `${packagesFolder}.${process.pid}`;
  cpSync(cache, fresh, { recursive: true });
  cpSync(join(lockFolder, 'package-lock.json'), join(fresh, '.lock'));
  rmSync(packagesFolder, { recursive: true, force: true });
  renameSync(fresh, packagesFolder);
}

const isOf = (lock: Buffer): boolean => {
  const kept = join(packagesFolder, '.lock');
  return existsSync(kept) && readFileSync(kept).equals(lock);
};
