import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { keyNames, keysOf } from './keys.ts';
import { loadLibrary } from './script-library.ts';
import { scriptNames } from './script-names.ts';

const folder = join(import.meta.dirname, 'scripts');

test('every script in the folder is in the library, and only those', async () => {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.lua'));
  expect(files.sort()).toEqual(scriptNames.map((name) => `${name}.lua`).sort());
});

test('every script checks first whose Redis this is, but those by which a Redis becomes the fleet’s', async () => {
  const { text } = await loadLibrary({ keys: keysOf('f') });
  const unguarded = ['adopt', 'mark-lost', 'read-kept', 'restore-rollout', 'restore-sandbox'];
  expect(text.match(/RECOVERING this Redis/g)).toHaveLength(scriptNames.length - unguarded.length);
  for (const name of unguarded) {
    const script = await readFile(join(folder, `${name}.lua`), 'utf8');
    expect(script.startsWith('-- unguarded')).toBe(true);
  }
});

test('scripts use no key that keys.ts does not name', async () => {
  const { text } = await loadLibrary({ keys: keysOf('f') });
  const used = new Set([...text.matchAll(/\bkey\.(\w+)/g)].map(([, name]) => name ?? ''));
  expect([...used].filter((name) => !(name in keyNames))).toEqual([]);
  expect(Object.keys(keyNames).filter((name) => !used.has(name))).toEqual([]);
});

test('another fleet, or another clock, is another library', async () => {
  const names = await Promise.all([
    loadLibrary({ keys: keysOf('f') }),
    loadLibrary({ keys: keysOf('g') }),
    loadLibrary({ keys: keysOf('f'), timeLua: 'local function clock() return 0 end' }),
  ]);
  expect(new Set(names.map((library) => library.functionOf('claim'))).size).toBe(3);
});
