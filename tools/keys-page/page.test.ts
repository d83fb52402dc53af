import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { luaFile, luaFiles } from '#src/adapters/redis/script-library.ts';
import { keyRows, keysPage, readmePage } from './page.ts';
import { writersOf } from './writers.ts';

const root = join(import.meta.dirname, '../..');
const stale = 'the pages of keys are stale: run node_modules/.bin/node tools/write-keys-pages.ts';

test.each([
  ['src/adapters/redis/KEYS.md', keysPage],
  ['src/README.md', readmePage],
])('%s has what the table of keys and the scripts have', async (path, write) => {
  const page = await readFile(join(root, path), 'utf8');
  expect(page === write(page, await luaFiles()), stale).toBe(true);
});

test('each key is written by a script, or its row names the program that writes it', async () => {
  const writers = writersOf(await luaFiles());
  const unwritten = Object.entries(keyRows).filter(
    ([name, rows]) => !writers.has(name) && [rows].flat().some(({ writer }) => writer === undefined),
  );
  expect(unwritten.map(([name]) => name)).toEqual([]);
});

const keysOf = (...texts: readonly (readonly [string, string])[]) =>
  Object.fromEntries(writersOf(texts.map(([name, text]) => luaFile(name, text))));

test.each([
  ['a command', "script('one', function() redis.call('SET', key.a .. 'x', key.b) end)"],
  ['a local', "script('one', function() local name = key.a .. 'x' redis.call('HSET', name, 'f', 1) end)"],
  ['a loop', "script('one', function() for _, each in ipairs({ key.a }) do redis.call('DEL', each) end end)"],
  [
    'a table of the file',
    "local places = { key.a }\nscript('one', function() redis.call('DEL', places[1]) end)",
  ],
  [
    'a function that makes its name',
    "local function named(x) return key.a .. x end\nscript('one', function() redis.call('DEL', named(1)) end)",
  ],
  [
    'a function that it is passed to',
    "local function join(ring) redis.call('ZADD', ring, 1, 'x') end\nscript('one', function() join(key.a) end)",
  ],
])('a key is written through %s', (_, text) => {
  expect(keysOf(['calls.lua', text])).toEqual({ a: ['calls'] });
});

test('a key that a file only reads is not written by it', () => {
  expect(keysOf(['calls.lua', "script('one', function() return redis.call('GET', key.a) end)"])).toEqual({});
});

test('a file that calls a name for a write is a writer, too', () => {
  const record =
    "local function write(id) redis.call('HSET', key.a .. id, 'f', 1) end\nreturn { write = write }";
  const call = "-- requires: rollout\nscript('one', function() Rollout.write('x') end)";
  expect(keysOf(['lib/rollout.lua', record], ['calls.lua', call])).toEqual({ a: ['calls', 'rollout'] });
});
