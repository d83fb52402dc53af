import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Retried, retryPolicies } from '#src/waiting/retry-policies.ts';
import { duration, retriesPage } from './page.ts';

const repository = join(import.meta.dirname, '../..');
const read = (file: string) => readFile(join(repository, file), 'utf8');
const names = Object.keys(retryPolicies) as readonly Retried[];

test('docs/retries.md says what the table of retries says', async () => {
  const stale =
    'docs/retries.md is stale. Write it again: node_modules/.bin/node tools/write-retries-page.ts';
  expect((await read('docs/retries.md')) === retriesPage(), stale).toBe(true);
});

const sources = await Promise.all(
  globSync('{src,services}/**/*.ts', { cwd: repository, exclude: ['**/*.test.ts'] }).map(async (file) => ({
    file,
    text: await read(file),
  })),
);

test.each(names)('the row %s is tried by the files that it names, and by no others', (name) => {
  const using = sources.filter(({ text }) => text.includes(`retryPolicies.${name}`)).map(({ file }) => file);
  expect(using.toSorted()).toEqual(retryPolicies[name].by.toSorted());
});

test.each(names)('where the row %s has time of its own, its words say the same', (name) => {
  const { withinMs, until } = retryPolicies[name];
  if (Number.isFinite(withinMs))
    expect(until.startsWith(withinMs >= 600_000 ? `${withinMs / 60_000} min` : duration(withinMs))).toBe(
      true,
    );
  else expect(until).not.toMatch(/^[\d.]+ (?:ms|s|min)\b/);
});
