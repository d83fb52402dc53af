import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, matchesGlob } from 'node:path';
import { expect, test } from 'vitest';
import { sharingOneFleet, type Suite, suites } from './suites.ts';

const repository = join(import.meta.dirname, '..');
const all: readonly (readonly [string, Suite])[] = Object.entries(suites);
const listed = ['ls-files', '--cached', '--others', '--exclude-standard', '-z', '*.test.ts'];
const files = execFileSync('git', listed, { cwd: repository, encoding: 'utf8' }).split('\0').filter(Boolean);

const matches = (file: string, patterns: readonly string[] = []) =>
  patterns.some((pattern) => matchesGlob(file, pattern));
const suitesOf = (file: string) =>
  all
    .filter(([, suite]) => matches(file, suite.files) && !matches(file, suite.without))
    .map(([name]) => name);

test('every test file is in exactly one suite', () => {
  expect(files.length).toBeGreaterThan(400);
  const odd = files.map((file) => ({ file, in: suitesOf(file) })).filter((one) => one.in.length !== 1);
  expect(odd).toEqual([]);
});

test('the files that share one fleet are those that ask for it, and all of them are in `whole`', () => {
  const asking = files.filter(
    (file) =>
      file.startsWith('test/e2e/') &&
      readFileSync(join(repository, file), 'utf8').match(
        /\b(?:sharedFleet|joinSharedFleet)\(|\binject\('sharedFleet'\)/,
      ) !== null,
  );
  expect(files.filter((file) => matches(file, sharingOneFleet))).toEqual(asking);
  expect(new Set(asking.flatMap(suitesOf))).toEqual(new Set(['whole']));
});

test('no pattern of a suite is left without a file', () => {
  const patterns = all.flatMap(([, suite]) => [...suite.files, ...(suite.without ?? [])]);
  expect(patterns.filter((pattern) => !files.some((file) => matches(file, [pattern])))).toEqual([]);
});

test('docs/contributing.md shows what each suite proves', () => {
  const page = readFileSync(join(repository, 'docs/contributing.md'), 'utf8');
  const rows = all.map(([, { command, promise }]) => `| \`${command}\` | ${promise} |`);
  expect(rows.filter((row) => !page.includes(row))).toEqual([]);
});
