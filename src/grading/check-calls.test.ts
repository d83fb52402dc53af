import { expect, test } from 'vitest';
import { callId } from '../model/ids.ts';
import type { CallSummary } from '../ports/fleet/records.ts';
import type { Environment } from '../model/environment.ts';
import { unseenCalls } from './check-calls.ts';

const tools: Environment['tools'] = {
  shell: {
    name: 'shell',
    description: '',
    parameters: { type: 'object', required: ['command'] },
    timeoutMs: 1,
    run: { kind: 'builtin', tool: 'search' },
  },
};

const recorded = (...calls: string[]): CallSummary[] =>
  calls.map((call) => ({
    call: callId(call),
    tool: 'shell',
    state: 'settled',
    outcome: 'completed',
    code: null,
    admitted: 'yes',
    exitCode: 0,
    startedAtMs: 1,
    durationMs: 1,
    waitedMs: 0,
    outputBytes: 0,
    sandbox: null,
  }));

const named = (id: unknown, name?: string) => ({
  ...(id === undefined ? {} : { id: id as string }),
  type: 'function',
  ...(name === undefined ? {} : { function: { name, arguments: '{"command":"ls"}' } }),
});

test.each([
  { why: 'no calls are named', output_tools: [], unseen: [] },
  { why: 'the platform tells of none', output_tools: null, unseen: [] },
  { why: 'all are known', output_tools: [named('a', 'shell'), named('b')], unseen: [] },
  { why: 'one never came', output_tools: [named('a', 'shell'), named('c', 'shell')], unseen: ['c'] },
  { why: 'one of another server is not ours to know', output_tools: [named('c', 'web_search')], unseen: [] },
  { why: 'one that names no tool may be ours', output_tools: [named('c')], unseen: ['c'] },
  { why: 'one without id matches none', output_tools: [named(undefined, 'shell')], unseen: ['without id'] },
])('$why', async ({ output_tools, unseen }) => {
  expect(await unseenCalls({ output_tools }, tools, recorded('a', 'b'))).toEqual(unseen);
});

test.each([
  { why: 'right arguments may have run', given: '{"command":"ls"}', unseen: ['c'] },
  { why: 'the same as an object', given: { command: 'ls' }, unseen: ['c'] },
  { why: 'with a missing argument nothing can have run', given: '{}', unseen: [] },
  { why: 'with text that is no JSON nothing can have run', given: 'ls', unseen: [] },
  { why: 'arguments that are not told say nothing', given: null, unseen: ['c'] },
])('$why', async ({ given, unseen }) => {
  const output_tools = [{ id: 'c', function: { name: 'shell', arguments: given } }];
  expect(await unseenCalls({ output_tools }, tools, [])).toEqual(unseen);
});

test('a sample that names eight unseen calls leaves other requests a turn after each', async () => {
  const output_tools = Array.from({ length: 8 }, (_, index) => named(`c${index}`, 'shell'));
  let turns = 0;
  const counted = (): void => {
    turns += 1;
    if (turns < 1_000) next = setImmediate(counted);
  };
  let next = setImmediate(counted);
  expect(await unseenCalls({ output_tools }, tools, [])).toHaveLength(8);
  clearImmediate(next);
  expect(turns).toBeGreaterThanOrEqual(8);
});
