import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { timingsPage } from './page.ts';

test('docs/timings.md lists what the table of timings has', async () => {
  const page = await readFile(join(import.meta.dirname, '../../docs/timings.md'), 'utf8');
  const stale = 'docs/timings.md is stale: run node_modules/.bin/node tools/write-timings-page.ts';
  expect(page === timingsPage(), stale).toBe(true);
});
