import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { CommandError } from '#cli/command-error.ts';
import { sourceFiles } from '../generators/icd10/source.ts';

const requirements = join(import.meta.dirname, 'requirements.txt');

/** What the build of data reads, git-ignored. */
export const codesFolder = join(import.meta.dirname, 'source');

/**
 * Puts the two files of codes where the build finds them. pip fetches their package once on a machine, by version and hash; it is
 * kept in the user's cache, so that neither another checkout nor any run needs a network.
 */
export function fetchCodes(): void {
  const cache = join(
    process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'),
    'corral/gallery/icd10-1.5.0',
  );
  if (has(codesFolder)) return;
  if (!has(cache)) download(cache);
  for (const file of sourceFiles) copyFileSync(join(cache, file), join(codesFolder, file));
}

const has = (folder: string): boolean => sourceFiles.every((file) => existsSync(join(folder, file)));

function download(cache: string): void {
  const folder = mkdtempSync(join(tmpdir(), 'corral-gallery-'));
  try {
    install(folder);
    mkdirSync(cache, { recursive: true });
    for (const file of sourceFiles) {
      copyFileSync(join(folder, 'simple_icd_10_cm/data', file), join(cache, `${file}.new`));
      renameSync(join(cache, `${file}.new`), join(cache, file));
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function install(folder: string): void {
  const words = [
    '-m',
    'pip',
    'install',
    '--quiet',
    '--disable-pip-version-check',
    '--no-deps',
    '--no-compile',
  ];
  const args = [...words, '--require-hashes', '--target', folder, '--requirement', requirements];
  const { status, stderr, error } = spawnSync('python3', args, { encoding: 'utf8', timeout: 300_000 });
  if (status === 0) return;
  throw new CommandError(
    `pip could not fetch the codes of icd10: ${error?.message ?? stderr.trim().split('\n').at(-1)}`,
    'this machine',
    `give it Python 3 with pip and a package index, or run: python3 ${args.join(' ')}`,
  );
}
