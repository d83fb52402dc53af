import { expect, test } from 'vitest';
import { keyNames, keysOf } from './keys.ts';
import { inOrder, loadLibrary, luaFile, luaFiles, scripts } from './script-library.ts';

const everyScript = /^(script|reading|unguarded)\('([^']+)'/gm;

async function declared() {
  const files = await luaFiles();
  return files.flatMap(({ name, text }) =>
    [...text.matchAll(everyScript)].map(([, kind, script]) => ({ file: name, kind, script })),
  );
}

test('every script stands in the file that is named, and no file has another', async () => {
  const named = Object.entries(scripts).flatMap(([file, named]) =>
    Object.keys(named).map((name) => `${file} ${name}`),
  );
  const found = (await declared()).map(({ file, script }) => `${file} ${script}`);
  expect(found.sort()).toEqual(named.sort());
});

test('every script checks first whose Redis this is, but those by which a Redis becomes the fleet’s', async () => {
  const unguarded = (await declared()).filter(({ kind }) => kind === 'unguarded').map(({ script }) => script);
  expect(new Set(unguarded)).toEqual(
    new Set(['adopt', 'mark-lost', 'read-kept', 'restore-rollout', 'restore-sandbox']),
  );
});

const file = (name: string, requires: string) => luaFile(`lib/${name}.lua`, `-- requires: ${requires}\n`);

test('a file comes after those that it requires, and the clock before all', () => {
  const files = [file('call', 'run, line'), file('line', 'run'), file('run', 'row')];
  const bases = [luaFile('lib/row.lua', ''), file('script', 'time'), luaFile('lib/time.lua', '')];
  const names = inOrder([...files, ...bases]).map(({ name }) => name);
  expect(names).toEqual(['time', 'script', 'row', 'run', 'line', 'call']);
  expect(() => inOrder([...files, file('row', 'call'), ...bases])).toThrow(
    'a circle of Lua files: call → run → row',
  );
  expect(() => inOrder([file('call', 'lime'), ...bases])).toThrow(
    'call.lua requires lime.lua, which is not there',
  );
});

test('scripts use no key that keys.ts does not name', async () => {
  const { text } = await loadLibrary({ keys: keysOf('f') });
  const used = new Set([...text.matchAll(/\bkey\.(\w+)/g)].map(([, name]) => name ?? ''));
  expect([...used].filter((name) => !(name in keyNames))).toEqual([]);
  // The channel of replicas.ts: nothing is written there by a script.
  expect(Object.keys(keyNames).filter((name) => !used.has(name))).toEqual(['replicated']);
});

test('another fleet, or another clock, is another library', async () => {
  const names = await Promise.all([
    loadLibrary({ keys: keysOf('f') }),
    loadLibrary({ keys: keysOf('g') }),
    loadLibrary({ keys: keysOf('f'), timeLua: 'local function clock() return 0 end' }),
  ]);
  expect(new Set(names.map((library) => library.functionOf('claim'))).size).toBe(3);
});
