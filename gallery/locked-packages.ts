import { spawnSync } from 'node:child_process';
import { copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { CommandError } from '#cli/command-error.ts';

/** What the user's cache has of the gallery, once on a machine. */
export const cacheFolder = (name: string): string =>
  join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'corral/gallery', name);

/** Puts what npm fetches for the package.json and the lock in `from`, by version and hash, into a folder of the cache. */
export function cacheLocked(from: string, cache: string, parts: readonly string[] = ['']): void {
  const folder = mkdtempSync(join(tmpdir(), 'corral-gallery-'));
  try {
    for (const file of ['package.json', 'package-lock.json'])
      copyFileSync(join(from, file), join(folder, file));
    install(folder);
    const fresh = `${cache}.${process.pid}`;
    for (const part of parts)
      cpSync(join(folder, 'node_modules', part), join(fresh, part), { recursive: true });
    mkdirSync(dirname(cache), { recursive: true });
    if (!existsSync(cache)) renameSync(fresh, cache);
    rmSync(fresh, { recursive: true, force: true });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function install(folder: string): void {
  const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const { status, stderr, error } = spawnSync('npm', args, {
    cwd: folder,
    encoding: 'utf8',
    timeout: 300_000,
  });
  if (status === 0) return;
  throw new CommandError(
    `npm could not fetch what the gallery needs: ${error?.message ?? stderr.trim().split('\n').at(-1)}`,
    'this machine',
    'give it npm with a reachable registry',
  );
}
