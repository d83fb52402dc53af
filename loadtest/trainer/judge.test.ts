import { describe, expect, test } from 'vitest';
import { commandOf, mischiefs, readEvidence } from './evidence.ts';
import { judge } from './judge.ts';
import type { CallTruth, RolloutTruth } from './truth.ts';

const id = (name: string) => `call_${name.padEnd(16, '0')}`;
const [a, b, c] = [id('a'), id('b'), id('c')] as const;

const call = (ids: readonly string[], shown: string | null, sentMs = 0): CallTruth => ({
  ids,
  mischief: null,
  sentMs,
  endedMs: sentMs + 1,
  shown,
  leaked: false,
});

const scored = (score: number, calls: readonly CallTruth[]): RolloutTruth => ({
  rollout: 'trace_1',
  group: 'task',
  startedMs: 0,
  endedMs: 100,
  calls,
  ending: { kind: 'scored', score },
});

const kindsOf = (truth: RolloutTruth) => judge(truth).map(({ kind }) => kind);

describe('nothing is found', () => {
  test('where every output lists the calls before it and its own', () => {
    const calls = [call([a], `${a}\nxxx\n`), call([b], `${a}\n${b}\nxx[12 bytes cut]xx\n[exit code 1]`, 2)];
    expect(judge(scored(2, calls))).toEqual([]);
  });

  test('where parallel calls see each other or not', () => {
    const calls = [call([a], `${a}\n`), call([b], `${a}\n${b}\n`)];
    expect(judge(scored(2, calls))).toEqual([]);
  });

  test('where a command was stopped before it could write', () => {
    const calls = [call([a], `${a}\n`), call([b], '[killed by signal SIGKILL]', 2)];
    expect(judge(scored(1, calls))).toEqual([]);
  });

  test('where a retry under a new id ran beside the first one', () => {
    expect(judge(scored(2, [call([a, b], `${a}\n${b}\n`)]))).toEqual([]);
  });

  test('where the policy broke its own grader', () => {
    const broken = { ...call([a], `${a}\n`), mischief: 'eats_memory' as const };
    expect(judge(scored(-1, [broken]))).toEqual([]);
  });
});

describe('it is found', () => {
  test('that a command ran twice', () => {
    expect(kindsOf(scored(1, [call([a], `${a}\n${a}\n`)]))).toEqual(['ran_twice']);
  });

  test('that more ran than was sent, by the score alone', () => {
    expect(kindsOf(scored(2, [call([a], `${a}\n`)]))).toEqual(['ran_twice']);
  });

  test('that a fresh machine answered, and that the rollout was scored on it', () => {
    const calls = [call([a], `${a}\n`), call([b], `${b}\n`, 2)];
    expect(kindsOf(scored(1, calls))).toEqual(['scored_despite_failure', 'scored_despite_failure']);
  });

  test('that another rollout had written there', () => {
    expect(kindsOf(scored(1, [call([a], `${c}\n${a}\n`)]))).toContain('scored_despite_failure');
  });

  test('that a broken grader was given a score although no policy broke it', () => {
    expect(kindsOf(scored(-1, [call([a], `${a}\n`)]))).toEqual(['scored_despite_failure']);
  });

  test('that a 4xx body was shown', () => {
    const leak = { ...call([a], '{"error":{"code":"payload_too_large"}}'), leaked: true };
    expect(kindsOf(scored(0, [leak]))).toEqual(['shown_infrastructure_text']);
  });

  test.each([
    ['words of the machinery', `${a}\nconnect ECONNREFUSED d.sock\n`],
    ['an empty output without a reason', ''],
    ['a stack trace after an honest output', `${a}\nxx\n    at Socket.<anonymous>`],
  ])('that the policy was shown %s', (_name, shown) => {
    expect(kindsOf(scored(1, [call([a], shown)]))).toContain('shown_infrastructure_text');
  });
});

test('a command writes its evidence before its work, and its mischief comes last', () => {
  const command = commandOf(a, { sleepMs: 1500, outputBytes: 10, mischief: 'looks_out_of_memory' });
  expect(command.indexOf(`echo ${a} >> calls`)).toBeLessThan(command.indexOf('sleep 1.500'));
  expect(command.endsWith(mischiefs.looks_out_of_memory)).toBe(true);
});

test('evidence is read from the head of an output only', () => {
  expect(readEvidence(`${a}\n${b}\nxx\n${c}\n`)).toEqual({ ids: [a, b], rest: `xx\n${c}\n` });
});
