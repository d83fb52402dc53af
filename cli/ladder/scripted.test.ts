import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Kind } from './policies.ts';
import { type Secrets, scripted } from './scripted.ts';

let root = '';
let file = '';
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'corral-'));
  file = join(root, 'policies.mjs');
  writeFileSync(
    file,
    `export const policies = {
      looks: async ({ item, given, copy, call }) => ({ item, given, copy, seen: await call('shell', { command: 'ls' }) }),
      breaks: async ({ item }) => item.no.such,
    };`,
  );
});
afterAll(() => rmSync(root, { recursive: true }));

const row = { item: { question: 'why', page: '3', answer: '7' }, reference: '7', cheating: '42' };

const playAs = (kind: Kind, told: Secrets['told'], name = 'looks') =>
  scripted(file, { name, kind }, { graded: ['answer'], told })({ row, copy: 2, call: async () => 'a b' });

test('a policy’s program knows of the row what the prompt tells, makes its calls, and its copies are told apart', async () => {
  expect(await playAs('good', ['question'])).toEqual({ item: { question: 'why' }, copy: 2, seen: 'a b' });
});

test('without a prompt it knows all but what the grader compares with', async () => {
  expect(await playAs('naive', null)).toMatchObject({ item: { question: 'why', page: '3' } });
  expect(await playAs('naive', null)).not.toHaveProperty('item.answer');
});

test('a reference is given the reference, a cheat what is tried instead, and nobody else either', async () => {
  expect(await playAs('reference', ['question'])).toMatchObject({ item: row.item, given: '7' });
  expect(await playAs('cheat', null)).toMatchObject({ given: '42' });
  expect(await playAs('good', null)).toHaveProperty('given', undefined);
});

test('a program that fails, or is not there, is its author’s to mend and no zero', async () => {
  await expect(playAs('good', null, 'breaks')).rejects.toThrow(/policy breaks failed: TypeError/);
  await expect(playAs('good', null, 'other')).rejects.toThrow(/has no policy other/);
});
