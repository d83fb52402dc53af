import { expect, test } from 'vitest';
import { luaFile } from '#src/adapters/redis/script-library.ts';
import { askedComplaints } from './asked.ts';

const complaints = (text: string, ...fields: readonly string[]) =>
  askedComplaints(luaFile('calls.lua', text), () => fields);

test('a script that reads each field of its contract is left alone', () => {
  const text = `script('admit', function(ask, texts)
  local function deep() return ask.budget.toolCalls end
  return ask.key, deep(), texts.other
end)`;
  expect(complaints(text, 'key', 'budget')).toEqual([]);
});

test('a field that the contract lacks is reported, and a field that no script reads', () => {
  const text = `reading('admit', function(ask) return ask.kee end)
script('none', function() return 1 end)`;
  expect(complaints(text, 'key')).toEqual([
    'calls.lua:1: admit reads kee, which calls.ts lacks',
    'calls.lua:1: admit does not read key, which calls.ts has',
    'calls.lua:2: none does not read key, which calls.ts has',
  ]);
});
