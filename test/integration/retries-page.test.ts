import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const repository = join(import.meta.dirname, '../..');

test('docs/retries.md says of every retry in which file it is, and each of those files is there', async () => {
  const page = await readFile(join(repository, 'docs/retries.md'), 'utf8');
  const rows = page.split('\n').filter((line) => /^\| (?!what |--- )/.test(line));
  expect(rows.length).toBeGreaterThan(15);
  for (const row of rows) {
    const files = [...row.matchAll(/`((?:src|services|cli|clients)\/[^`]+)`/g)].map(([, file = '']) => file);
    expect(files, row).not.toEqual([]);
    for (const file of files) expect(existsSync(join(repository, file)), file).toBe(true);
  }
});
