import { expect, test } from 'vitest';
import { luaFile } from '#src/adapters/redis/script-library.ts';
import { luaComplaints } from './complaints.ts';

const line = ['lib/line.lua', 'local function nextWaiter(template) return key.line .. template end'] as const;

function complaints(...files: readonly (readonly [path: string, text: string])[]) {
  return luaComplaints(
    files.map(([path, text]) => luaFile(path, text)),
    ['key'],
  );
}

test('files that declare, require and read what they use are left alone', () => {
  const uses = `-- requires: line
local known = { waiter = nextWaiter('t') }
for index, each in ipairs(known) do redis.call('SET', index, each.waiter) end
return function(_, ...) return known, ... end`;
  expect(complaints(line, ['serve.lua', uses])).toEqual([]);
});

test('a misspelt name is declared nowhere', () => {
  expect(complaints(line, ['serve.lua', '-- requires: line\nreturn nextWaiter(nowMS)'])).toEqual([
    'serve.lua:2: nowMS is declared nowhere',
  ]);
});

test('a global that is written is a name declared nowhere', () => {
  expect(complaints(['serve.lua', 'count = 1'])).toEqual(['serve.lua:1: count is declared nowhere']);
});

test('a function is not known above its declaration, nor to a file that does not require it', () => {
  const early = 'local function first() return second() end\nlocal function second() return first() end';
  expect(complaints(['early.lua', early])).toEqual(['early.lua:1: second is used above its declaration']);
  expect(complaints(line, ['serve.lua', 'return nextWaiter()'])).toEqual([
    'serve.lua:1: nextWaiter is of line.lua, which is not required',
  ]);
});

test('what is required for nothing, or is not there, is told', () => {
  expect(complaints(line, ['serve.lua', '-- requires: line, lime\nreturn nextWaiter()'])).toEqual([
    'serve.lua:1: it requires lime.lua and uses nothing of it',
  ]);
});

test('what is only written is never read, in a function, in a loop and in a file', () => {
  const idle = `local unused = 1
local function run(asked)
  local reply = 1
  reply = 2
  for _, each in ipairs({}) do end
end
run()`;
  expect(complaints(['idle.lua', idle])).toEqual([
    'idle.lua:2: asked is never read',
    'idle.lua:3: reply is never read',
    'idle.lua:5: each is never read',
    'idle.lua:1: unused is never read',
  ]);
});

test('of two functions of one name the second hides the first', () => {
  const two = 'local function take() end\ntake()\nlocal function take() end\ntake()';
  expect(complaints(['two.lua', two])).toEqual(['two.lua:3: take hides another take']);
  expect(complaints(line, ['again.lua', 'local function nextWaiter() end\nnextWaiter()'])).toEqual([
    'line.lua:1: nextWaiter is never read',
    'line.lua:1: nextWaiter is declared in again.lua, too',
    'again.lua:1: nextWaiter is declared in line.lua, too',
  ]);
});
