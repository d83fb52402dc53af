import { expect, test } from 'vitest';
import { rolloutId, runId, tenantId } from '#src/model/ids.ts';
import { rolloutKey } from '#src/model/rollout.ts';
import type { LoggedRollout } from '#src/reports/findings/collect.ts';
import { digestOf } from './digest.ts';

type Made = Partial<Pick<LoggedRollout, 'score' | 'item' | 'loss' | 'parts'>> & {
  readonly commands?: readonly string[];
};

/** Rollouts of one step open within a second of each other, and steps a minute after one another. */
function madeRollout(step: number, copy: number, { commands = ['ls'], ...made }: Made = {}): LoggedRollout {
  const id = `s${step}-${copy}`;
  const openedAtMs = step * 60_000 + copy;
  const owner = { tenant: tenantId('t'), run: runId('r'), rollout: rolloutId(id), attempt: 1 };
  return {
    key: rolloutKey({ ...owner, role: 'policy' }),
    environment: 'shell',
    version: 'v1',
    id,
    item: 'row',
    openedAtMs,
    endedAtMs: openedAtMs + 1_000,
    score: 0.5,
    loss: null,
    parts: [],
    calls: commands.map((command, at) => ({
      id: `c${at}`,
      tool: 'shell',
      arguments: JSON.stringify({ command }),
      blame: command === 'false' ? 'model' : null,
      startedAtMs: openedAtMs + at,
      tookMs: 5,
      outputBytes: 10,
    })),
    ...made,
  };
}

const loss = {
  code: 'sandbox_lost',
  blame: 'infrastructure',
  cause: 'oom',
  suspected: true,
  node: null,
} as const;
const digest = (...rollouts: LoggedRollout[]) => digestOf({ rollouts, voided: 0, missing: [] }).digest;

test('a discard is counted as one and is in no mean, best or spread', () => {
  const { steps, counts, mean } = digest(
    madeRollout(0, 0, { score: 1 }),
    madeRollout(0, 1, { score: 0.5 }),
    madeRollout(0, 2, { score: null, loss }),
  );
  expect(steps).toMatchObject([{ rollouts: 3, scored: 2, mean: 0.75, best: 1, spread: 0.25 }]);
  expect(steps[0]?.lost).toEqual({ infrastructure: 1, caller: 0, model: 0, suspected: 1 });
  expect([counts.discarded, mean]).toEqual([1, 0.75]);
});

test('a step without scores has no mean, which is not 0', () => {
  expect(digest(madeRollout(0, 0, { score: null })).steps).toMatchObject([
    { mean: null, best: null, spread: null },
  ]);
});

test('columns are in the order in which rollouts opened, with the gain over the same item in the same step', () => {
  const { columns, items, cells } = digest(
    madeRollout(1, 0, { score: 1 }),
    madeRollout(0, 1, { score: 1 }),
    madeRollout(0, 0, { score: 0, commands: ['cat a', 'false', 'ls'] }),
  );
  expect(columns.id).toEqual(['s0-0', 's0-1', 's1-0']);
  expect(columns.gain).toEqual([-0.5, 0.5, null]);
  expect(columns.step).toEqual([0, 0, 1]);
  expect(columns.strip).toEqual(['bCa', 'a', 'a']);
  expect(items).toEqual(['row']);
  expect(cells).toEqual([
    [
      { n: 2, mean: 0.5, spread: 0.5, lost: 0 },
      { n: 1, mean: 1, spread: null, lost: 0 },
    ],
  ]);
});

test('verbs beyond the most frequent ones are one more, and pairs count what follows what', () => {
  const commands = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].flatMap((verb, at) => Array(9 - at).fill(verb));
  const { verbs, steps, columns, pairs } = digest(madeRollout(0, 0, { commands }));
  expect(verbs).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'g']);
  expect(steps[0]?.verbs).toEqual([9, 8, 7, 6, 5, 4, 3, 2]);
  expect(columns.strip[0]?.slice(-3)).toBe('ghh');
  expect([pairs[0]?.[0], pairs[0]?.[1], pairs[1]?.[0]]).toEqual([8, 1, 0]);
});

const looks = (step: number, path: string): readonly LoggedRollout[] =>
  [0, 1, 2].map((copy) => madeRollout(step, copy, { commands: [`cat ${path}`] }));

test('places are the newest first, the longest if the same rollouts name several', () => {
  const { places } = digest(...looks(0, '/data/rows'), ...looks(1, '/srv/.tasks/answers.json'));
  expect(places.map(({ place }) => place)).toEqual(['/srv/.tasks/answers.json', '/data/rows']);
  expect(places[0]).toMatchObject({ first_step: 1, shares: [0, 1] });
});

test('findings name their rollouts by their rows', () => {
  const rollouts = [0, 1, 2, 3].map((copy) => madeRollout(0, copy, copy === 2 ? { score: null, loss } : {}));
  const { findings } = digest(...rollouts);
  const discards = findings.find(({ kind }) => kind === 'discards');
  expect(discards).toMatchObject({ weight: 'bad', rollouts: 1, rows: [2], by_step: [1] });
});

test('an empty run has an empty digest', () => {
  expect(digest()).toMatchObject({
    counts: { rollouts: 0 },
    mean: null,
    steps: [],
    findings: [],
    since_ms: null,
  });
});
