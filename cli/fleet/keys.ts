import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { formatKeyFile, parseKeyFile } from '#src/access/key-file.ts';
import type { ApiKey } from '#src/access/keys.ts';
import type { Random } from '#src/ports/random.ts';
import { CommandError } from '../command-error.ts';

/** The keys in the file; none where there is no file yet. Throws a CommandError that names every mistake in it. */
export function readKeys(file: string): readonly ApiKey[] {
  if (!existsSync(file)) return [];
  try {
    return parseKeyFile(readFileSync(file, 'utf8'));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new CommandError(`${file}: ${reason}`, 'yours', 'correct the file, or move it away', error);
  }
}

/** Whole or not at all, because gateways read it at any moment; only the owner may read it. */
export function writeKeys(file: string, keys: readonly ApiKey[]): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, formatKeyFile(keys), { mode: 0o600 });
  renameSync(draft, file);
}

/** 24 characters of 36 are 124 bits; it is accepted from this machine only. */
const secretLength = 24;

/** One key a state folder, kept over restarts so that a copied curl line goes on working. */
export function developmentKeyIn(path: string, random: Random): string {
  const kept = readDevelopmentKey(path);
  if (kept !== null) return kept;
  const key = `corral_development_${random.text(secretLength)}`;
  writeFileSync(path, `${key}\n`, { mode: 0o600 });
  return key;
}

export function readDevelopmentKey(path: string): string | null {
  return existsSync(path) ? readFileSync(path, 'utf8').trim() || null : null;
}
