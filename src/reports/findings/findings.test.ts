import { describe, expect, test } from 'vitest';
import { findingsOf } from './findings.ts';
import { type FoundRollout, stepped } from './runs.ts';

const second = 1_000;

function rollout(id: string, more: Partial<FoundRollout> = {}): FoundRollout {
  return {
    id,
    item: 'item',
    openedAtMs: 0,
    endedAtMs: 10 * second,
    score: 0.5,
    loss: null,
    calls: [],
    parts: [],
    ...more,
  };
}

const call = (command: string, blame: 'model' | null = null) => ({
  tool: 'shell',
  arguments: JSON.stringify({ command }),
  blame,
});
const calls = (count: number, blame: 'model' | null = null) =>
  Array.from({ length: count }, () => call('ls', blame));
const loss = {
  code: 'sandbox_lost',
  blame: 'infrastructure',
  cause: 'evicted',
  suspected: false,
  node: null,
} as const;

/** Steps of so many rollouts, a minute apart, each made by its step and its place in it. */
function run(steps: number, size: number, of: (step: number, index: number) => Partial<FoundRollout>) {
  return Array.from({ length: steps }, (_step, step) =>
    Array.from({ length: size }, (_one, index) => {
      const openedAtMs = step * 60 * second;
      const times = { openedAtMs, endedAtMs: openedAtMs + 30 * second };
      return rollout(`${step}-${index}`, { ...times, ...of(step, index) });
    }),
  ).flat();
}

const found = (rollouts: readonly FoundRollout[], missing: readonly string[] = []) =>
  findingsOf({ rollouts, missing });
const kinds = (rollouts: readonly FoundRollout[]) =>
  found(rollouts).map(({ kind, weight }) => `${weight} ${kind}`);

const stepsOf = (...times: readonly (readonly [number, number | null])[]) =>
  stepped(
    times.map(([opened, ended], index) =>
      rollout(String(index), {
        openedAtMs: opened * second,
        endedAtMs: ended === null ? null : ended * second,
      }),
    ),
  ).map(({ step }) => step);

describe('steps', () => {
  test('a rollout that opens when none is open begins another step', () => {
    expect(stepsOf([0, 5], [1, 8], [9, 12])).toEqual([0, 0, 1]);
  });

  test('a rollout that opens 20 s after the last one begins another step although a straggler runs', () => {
    expect(stepsOf([0, 900], [15, 30], [36, 50])).toEqual([0, 0, 1]);
  });
});

const habit = (pays: number, from: number, command = 'cat /repos/.tasks/rows.json') =>
  run(8, 16, (step, index) => {
    const has = step >= from && index < 6;
    return { calls: [...calls(6), ...(has ? [call(command)] : [])], score: has ? 0.4 + pays : 0.4 };
  });

describe('a habit', () => {
  test('that is new and pays is bad, with its longest path and rollouts that have it', () => {
    const [first] = found(habit(0.5, 4));
    expect(first).toMatchObject({
      kind: 'habit',
      weight: 'bad',
      what: '/repos/.tasks/rows.json',
      rollouts: 24,
      examples: ['7-1', '7-2', '7-3', '7-4', '7-5'],
    });
    expect(first?.text).toContain('score 0.50 higher');
  });

  test.each([
    ['does not pay', habit(0, 4)],
    ['was there from the start', habit(0.5, 0)],
    ['is within the work', habit(0.5, 4, 'cat rows.json')],
  ])('that %s is not bad', (_what, rollouts) => {
    expect(kinds(rollouts)).not.toContain('bad habit');
  });

  test('among the files of the task, at the price of more calls, is worth a look', () => {
    const rollouts = habit(0.5, 4, 'cat /repos/app/CONVENTIONS.md');
    expect(kinds(rollouts)).toContain('look habit');
    expect(kinds(rollouts)).not.toContain('bad habit');
  });

  test('of one rollout in hundreds is not reported', () => {
    const rollouts = run(8, 16, (step, index) => ({
      calls: [call(`cat /etc/file-${step}-${index}`)],
      score: index === 0 ? 1 : 0,
    }));
    expect(kinds(rollouts)).not.toContain('bad habit');
  });
});

test('full reward for hardly any call is bad', () => {
  const rollouts = run(8, 16, (step, index) =>
    step >= 4 && index < 6 ? { calls: calls(1), score: 1 } : { calls: calls(10), score: 0.5 },
  );
  expect(kinds(rollouts)).toContain('bad cheap_success');
});

const lost = (nodes: readonly (string | null)[]) =>
  run(3, 20, (step, index) => {
    const node = step === 1 ? nodes[index] : undefined;
    return node === undefined ? {} : { score: null, loss: { ...loss, node } };
  });

describe('losses', () => {
  test('are counted by code and cause, and are bad from 2 %', () => {
    expect(found(lost([null]))).toContainEqual(expect.objectContaining({ kind: 'discards', weight: 'look' }));
    const first = found(lost([null, null])).find(({ kind }) => kind === 'discards');
    expect(first).toMatchObject({ weight: 'bad', rollouts: 2 });
    expect(first?.text).toContain('sandbox_lost (evicted) 2');
  });

  test('mostly on one of several nodes name the node; on the only node known they do not', () => {
    expect(found(lost(['a', 'a', 'a', 'b']))).toContainEqual(
      expect.objectContaining({ kind: 'one_node', what: 'a', rollouts: 3 }),
    );
    expect(kinds(lost(['a', 'a', 'a']))).not.toContain('bad one_node');
  });

  test('of the caller are no finding', () => {
    const voided = run(2, 4, () => ({ score: null, loss: { ...loss, blame: 'caller', code: 'voided' } }));
    expect(kinds(voided)).not.toContain('bad discards');
  });
});

test('a long tail, rising mistakes, groups without spread and a part that never moves are worth a look', () => {
  const rollouts = run(4, 20, (step, index) => ({
    item: `item-${Math.floor(index / 4)}`,
    calls: calls(index === 0 || index === 1 ? 40 : 4, step === 3 ? 'model' : null),
    score: step === 3 && index < 4 ? 1 : index / 20,
    parts: [
      { part: 'f1', score: index / 20 },
      { part: 'style', score: 0.5 },
    ],
  }));
  expect(kinds(rollouts).toSorted()).toEqual([
    'look dead_part',
    'look mistakes',
    'look no_spread',
    'look tail',
  ]);
  expect(found(rollouts).find(({ kind }) => kind === 'dead_part')).toMatchObject({ what: 'style' });
});

test('what was not read is named, once', () => {
  expect(found([], ['gateway a: it is gone'])).toMatchObject([
    { kind: 'incomplete_log', what: 'gateway a: it is gone' },
  ]);
});

test('a run without rollouts has no finding', () => {
  expect(found([])).toEqual([]);
});

describe('a judge that scored a canary wrongly', () => {
  const suspect = { ...loss, code: 'judge_suspect', cause: null, judgeRightAtMs: 60 * second } as const;

  test('names the grades that were answered since it was last right', () => {
    const rollouts = [
      rollout('before', { endedAtMs: 50 * second }),
      rollout('since', { endedAtMs: 70 * second }),
      rollout('suspect', { endedAtMs: 80 * second, score: null, loss: suspect }),
      rollout('later', { endedAtMs: 90 * second }),
    ];
    const judge = found(rollouts).find(({ kind }) => kind === 'judge_suspect');
    expect(judge).toMatchObject({ weight: 'bad', ids: ['since'] });
    expect(judge?.text).toContain('1 rollouts were discarded. 1 grades');
  });

  test('is not there where no canary was wrong', () => {
    expect(found([rollout('one', { score: null, loss })]).map(({ kind }) => kind)).not.toContain(
      'judge_suspect',
    );
  });
});

const kindsOfMeans = (means: readonly number[]) =>
  found(run(means.length, 8, (step) => ({ score: means[step] ?? 0 }))).map(({ kind }) => kind);

test('a mean that jumps is a finding, and one that climbs is not', () => {
  expect(kindsOfMeans([0.3, 0.4, 1])).toContain('reward_jump');
  expect(kindsOfMeans([0.3, 0.4, 0.5])).not.toContain('reward_jump');
});
