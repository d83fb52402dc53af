import { expect, test } from 'vitest';
import { type Execution, Truth } from '../sandbox/truth.ts';
import { withinMemory } from './within-memory.ts';

const execution = (call: string, sandbox: string, startedMs: number): Execution => ({
  owner: 'lab/run-1/t1/1/policy',
  call,
  sandbox,
  boot: `boot of ${sandbox}`,
  tool: 'run',
  token: call,
  timeoutMs: 1_000,
  startedMs,
  ending: { kind: 'exited', exitCode: 0 },
  endedMs: startedMs + 100,
  broke: false,
  struck: false,
});

/** Redis is emptied at 4 s, while a rollout's sandbox is silent. The rollout begins again elsewhere. */
function knownCalls(beganElsewhereMs: number, replacedMs: readonly number[]): readonly string[] {
  const truth = new Truth();
  const executions = [execution('c1', 'silent', 3_000), execution('c2', 'other', beganElsewhereMs)];
  for (const one of executions) {
    truth.born(one.sandbox, one.boot);
    truth.started(one);
  }
  const redis = { replacedMs: [...replacedMs], adoptedMs: 5_000, unsure: new Set(['silent']) };
  return withinMemory(truth, redis).map(({ call }) => call);
}

test('a rollout that begins again before a silent sandbox was waited for has two lives', () => {
  expect(knownCalls(20_000, [4_000])).toEqual(['c1', 'c2']);
});

test('a rollout may begin again after a silent sandbox was waited for', () => {
  expect(knownCalls(40_000, [4_000])).toEqual(['c2']);
});

test('a Redis that is replaced after that has changed nothing about it', () => {
  expect(knownCalls(40_000, [4_000, 43_000])).toEqual(['c2']);
});

test('a Redis that is replaced before that is asked again', () => {
  expect(knownCalls(40_000, [4_000, 36_000])).toEqual(['c1', 'c2']);
});
