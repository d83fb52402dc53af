import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { Random } from '#src/ports/random.ts';

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
