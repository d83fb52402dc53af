import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadEnvironments } from '../../src/environments/load-environments.ts';
import { parseRows } from './rows.ts';
import type { Row } from './rows.ts';
import { sampleItem } from './sample-item.ts';

/**
 * Rows to try an environment with when nobody gave any: `NAME.items.jsonl` beside its file; without one, a row made up
 * from what it exposes and grades. A gateway elsewhere, whose files are not at hand, gets a row with an id only.
 */
export async function rowsOf(environment: string, folder: string): Promise<readonly Row[]> {
  const file = join(folder, `${environment}.items.jsonl`);
  if (existsSync(file)) return parseRows(readFileSync(file, 'utf8'), file);
  const catalog = await loadEnvironments(folder).catch(() => null);
  const found = catalog?.all().find(({ name }) => name === environment);
  const item = found === undefined ? { id: 'corral-preflight' } : sampleItem(found);
  return [{ item, reference: undefined, cheating: undefined }];
}
