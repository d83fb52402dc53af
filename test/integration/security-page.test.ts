import { access, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const repository = join(import.meta.dirname, '../..');
const page = await readFile(join(repository, 'SECURITY.md'), 'utf8');
const links = [...page.matchAll(/\]\(([^)#]+)/g)].map((found) => found[1] ?? '');

test.each(links)('SECURITY.md names %s, and it is there', async (path) => {
  await expect(access(join(repository, path))).resolves.toBeUndefined();
});

test('each suite of attacks is evidence on SECURITY.md', async () => {
  const suites = await readdir(join(repository, 'test/e2e/attacks'));
  expect(suites.filter((file) => !links.includes(`test/e2e/attacks/${file}`))).toEqual([]);
});
