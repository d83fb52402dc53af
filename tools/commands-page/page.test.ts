import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { commandsPage } from './page.ts';

test('docs/commands.md has the help of every command', async () => {
  const page = await readFile(join(import.meta.dirname, '../../docs/commands.md'), 'utf8');
  const stale = 'docs/commands.md is stale: run node_modules/.bin/node tools/write-commands-page.ts';
  expect(page.match(/^Usage: corral /gm)?.length).toBeGreaterThan(20);
  expect(page === commandsPage(), stale).toBe(true);
});
