import { expect, test } from 'vitest';
import { luaFile } from '#src/adapters/redis/script-library.ts';
import { luaComplaints, tooManyLocals } from './complaints.ts';

const line = [
  'lib/line.lua',
  'local function next(template) return key.line .. template end\nreturn { next = next }',
] as const;

function complaints(...files: readonly (readonly [path: string, text: string])[]) {
  return luaComplaints(
    files.map(([path, text]) => luaFile(path, text)),
    ['key'],
  );
}

test('files that declare, require and read what they use are left alone', () => {
  const uses = `-- requires: line
local known = { waiter = Line.next('t') }
for index, each in ipairs(known) do redis.call('SET', index, each.waiter) end
return function(_, ...) return known, ... end`;
  expect(complaints(line, ['serve.lua', uses])).toEqual([]);
});

test('a misspelt name is declared nowhere', () => {
  expect(complaints(line, ['serve.lua', '-- requires: line\nreturn Line.next(nowMS)'])).toEqual([
    'serve.lua:2: nowMS is declared nowhere',
  ]);
});

test('a misspelt member is not returned by its file, and what no file uses need not be returned', () => {
  expect(complaints(line, ['serve.lua', '-- requires: line\nreturn Line.nextt()'])).toEqual([
    'line.lua:2: next is returned, and no file uses it',
    'serve.lua:2: line.lua does not return nextt',
  ]);
});

test('what a module declares is known to others by the name of the module only', () => {
  expect(complaints(line, ['serve.lua', '-- requires: line\nreturn Line.next(next())'])).toEqual([
    'serve.lua:2: next is declared nowhere; write Line.next',
  ]);
});

test('a global that is written is a name declared nowhere', () => {
  expect(complaints(['serve.lua', 'count = 1'])).toEqual(['serve.lua:1: count is declared nowhere']);
});

test('a function is not known above its declaration, nor to a file that does not require it', () => {
  const early = 'local function first() return second() end\nlocal function second() return first() end';
  expect(complaints(['early.lua', early])).toEqual(['early.lua:1: second is used above its declaration']);
  expect(complaints(line, ['serve.lua', 'return Line.next()'])).toEqual([
    'serve.lua:1: Line is of line.lua, which is not required',
  ]);
});

test('a required file that is missing or not used is reported', () => {
  expect(complaints(line, ['serve.lua', '-- requires: line, lime\nreturn Line.next()'])).toEqual([
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
  const clock = ['lib/time.lua', 'local function clock() return 0 end'] as const;
  expect(complaints(clock, ['again.lua', '-- requires: time\nlocal function clock() end\nclock()'])).toEqual([
    'time.lua:1: clock is never read',
    'again.lua:1: it requires time.lua and uses nothing of it',
    'again.lua:2: clock is declared in time.lua, too',
  ]);
});

test('two modules may each have a function of one name', () => {
  const other = ['lib/turn.lua', 'local function next() return 1 end\nreturn { next = next }'] as const;
  expect(
    complaints(line, other, ['serve.lua', '-- requires: line, turn\nreturn Line.next(Turn.next())']),
  ).toEqual([]);
});

test('a chunk above its limit of locals is reported', () => {
  const chunk = 'local one, two = 1, 2\nlocal function three() local four = 4 end\ndo local five = 5 end';
  expect(tooManyLocals(chunk, 3)).toEqual([]);
  expect(tooManyLocals(chunk, 2)).toEqual([
    'the chunk of all files has 3 locals, above the limit of 2: move some into a module of lib',
  ]);
});
