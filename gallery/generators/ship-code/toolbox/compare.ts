import { spawnSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { unpackInto } from './unpack.ts';

/** The package as it was, unpacked again: nothing that the policy may have changed. */
export function originalFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'original-'));
  unpackInto(folder, process.env['CORRAL_ITEM_SEAL'] ?? '');
  return folder;
}

const compare = (...options: readonly string[]): string =>
  spawnSync('diff', ['-r', '-N', '-x', 'node_modules', ...options, originalFolder(), 'package'], {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  }).stdout;

export const differences = (): string => compare('-u').replaceAll(/^(?:diff|---) .*\n/gm, '');

export const changedFiles = (): readonly string[] =>
  [...compare('-q').matchAll(/ and (package\/.*) differ$/gm)].map(([, path = '']) => path);
