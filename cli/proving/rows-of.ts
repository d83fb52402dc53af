import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadEnvironments } from '#src/environments/load-environments.ts';
import type { Environment } from '#src/model/environment.ts';
import { graderLeaves } from '#src/model/grader-leaves.ts';
import { CommandError } from '../command-error.ts';
import { parseRows, type Row } from './rows.ts';
import { sampleItem } from './sample-item.ts';

/**
 * Rows to try an environment with when nobody gave any: `NAME.items.jsonl` beside its file; without one, a row made up
 * from what it exposes and grades. A gateway elsewhere, whose files are not at hand, gets a row with an id only.
 */
export async function rowsOf(environment: string, folder: string): Promise<readonly Row[]> {
  const real = realRowsOf(environment, folder);
  if (real !== null) return real;
  const found = await environmentIn(folder, environment);
  const item = found === undefined ? { id: 'corral-preflight' } : sampleItem(found);
  return [{ item, reference: undefined, cheating: undefined }];
}

/** The rows beside an environment's file, `NAME.items.jsonl`; null where there are none. */
export function realRowsOf(environment: string, folder: string): readonly Row[] | null {
  const file = join(folder, `${environment}.items.jsonl`);
  return existsSync(file) ? parseRows(readFileSync(file, 'utf8'), file) : null;
}

/** Rows of a file that somebody named. */
export function readRows(file: string): readonly Row[] {
  try {
    return parseRows(readFileSync(file, 'utf8'), file);
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw new CommandError(`cannot read ${file}: ${String(error)}`, 'yours', 'give a JSONL file', error);
  }
}

/** The answers of which its judges are asked where they refuse another: each must have a score. */
export async function harmlessAnswersOf(environment: string, folder: string): Promise<readonly string[]> {
  const found = await environmentIn(folder, environment);
  const leaves = found === undefined ? [] : graderLeaves(found.grader);
  return [...new Set(leaves.flatMap((leaf) => (leaf.kind === 'http' ? leaf.control : [])))];
}

/** Where its file is at hand. */
export async function environmentIn(folder: string, environment: string): Promise<Environment | undefined> {
  const catalog = await loadEnvironments(folder).catch(() => null);
  return catalog?.all().find(({ name }) => name === environment);
}
