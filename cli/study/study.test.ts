import { describe, expect, test } from 'vitest';
import { callOf, copiesOf, rolloutOf, searcherAndReader } from '#test/builders/study-rollouts.ts';
import { usualAssumptions } from './burst.ts';
import { studyPage } from './page.ts';
import { describeStudy } from './report.ts';
import type { StudiedRollout } from './rollout.ts';
import type { Study } from './found.ts';
import { type Asked, studyOf } from './study.ts';

const asked = (rollouts: readonly StudiedRollout[], more: Partial<Asked> = {}): Asked => ({
  environment: 'docs',
  subjects: [{ name: 'first', what: 'policy', rollouts }],
  against: null,
  dataset: null,
  ceilings: [],
  assumed: usualAssumptions,
  missing: [],
  ...more,
});

const adviceOf = (rollouts: readonly StudiedRollout[], topic: string) =>
  studyOf(asked(rollouts)).advice.find((one) => one.topic === topic);

/** Copies whose traces differ, as a model's would. */
const varied = (items: Readonly<Record<string, readonly (number | null)[]>>) =>
  Object.entries(items).flatMap(([item, scores]) =>
    scores.map((score, copy) =>
      rolloutOf(`${item}-${copy}`, item, score, { calls: [callOf('search', String(copy))] }),
    ),
  );

const { searcher, reader } = searcherAndReader();
const both = studyOf(asked([], { subjects: [searcher, reader], against: reader }));

describe('advice', () => {
  test('says which share of the items has spread, and what is wasted on the others', () => {
    expect(both.advice[0]).toEqual({
      topic: 'spread',
      weight: 'look',
      found: '15 % of the items have spread under one-search; 35 % are always 0, 50 % always 1.',
      todo: 'only these teach, so 85 % of each step’s sandboxes are spent on nothing: take the other items out (or draw 7 times as many a step); for items that are always 1 use harder rows, or make the reward stricter',
    });
  });

  test('what has spread and what is wasted are the whole, however they are rounded', () => {
    const items = Array.from({ length: 40 }, (_, index) => [`${index}`, [1, index < 7 ? 0 : 1]] as const);
    const advice = adviceOf(varied(Object.fromEntries(items)), 'spread');
    expect(advice?.found).toMatch(/^18 % of the items have spread/);
    expect(advice?.todo).toContain('82 % of each step’s sandboxes');
  });

  test('no spread of a script without chance is no finding about the task', () => {
    const without = adviceOf(copiesOf({ a: [1, 1], b: [0, 0] }), 'spread');
    expect(without?.todo).toContain('a script without chance');
    expect(adviceOf(varied({ a: [1, 1], b: [0, 0] }), 'spread')).toMatchObject({
      weight: 'bad',
      todo: expect.stringContaining('nothing here would move the policy'),
    });
  });

  test('a run whose items are not told gets no share, and is told what is needed', () => {
    expect(adviceOf([rolloutOf('a', null, 1), rolloutOf('b', null, 0)], 'spread')).toMatchObject({
      found: 'Nothing can be said of spread under first.',
      todo: expect.stringContaining('--events'),
    });
  });

  test('discards are counted apart with their blame, and never enter a mean', () => {
    const study = studyOf(asked(varied({ a: [1, 1, null, null] })));
    expect(study.subjects[0]).toMatchObject({
      mean: 1,
      scored: 2,
      discarded: { rollouts: 2, causes: [{ code: 'sandbox_lost', blame: 'infrastructure', rollouts: 2 }] },
    });
    expect(study.advice.find(({ topic }) => topic === 'discards')).toMatchObject({
      weight: 'bad',
      found:
        '2 rollouts of 4 have no score (most: sandbox_lost at search, blame: infrastructure); no zero was made of it.',
      // 1 - (1 - 0.5)^8
      todo: 'fix that first: at this rate 100 % of groups of 8 lose a member',
    });
  });

  test.each([
    ['one level', { a: [0.5, 0.5], b: [0.5, 0.5] }, 'bad'],
    ['two levels', { a: [0, 1] }, 'look'],
    ['three levels', { a: [0, 0.5, 1] }, 'good'],
  ] as const)('%s of the score weigh %s', (_what, items, weight) => {
    expect(adviceOf(varied(items), 'levels')?.weight).toBe(weight);
  });

  test('nothing that is ever right, and nothing that is ever wrong, are no baselines', () => {
    expect(adviceOf(varied({ a: [0, 0] }), 'baseline')?.weight).toBe('bad');
    expect(adviceOf(varied({ a: [1, 1] }), 'baseline')?.todo).toContain('corral attack');
  });

  test('every topic that was looked at has one sentence', () => {
    const topics = both.advice.map(({ topic }) => topic);
    expect(new Set(topics).size).toBe(topics.length);
    expect(topics).toEqual([
      'spread',
      'best of k',
      'levels',
      'baseline',
      'discards',
      'calls',
      'outputs',
      'repeats',
      'latency',
      'parts',
      'together',
      'against',
      'burst',
      'cost',
    ]);
  });
});

test('the burst and its cost follow from what was seen and what is assumed', () => {
  const calls = [callOf('search', '1', { tookMs: 2_000 }), callOf('search', '2', { tookMs: 2_000 })];
  const assumed = { ...usualAssumptions, rolloutsPerStep: 100, copiesPerItem: 10, thinkingS: 8, steps: 3 };
  const { burst } = studyOf(
    asked([rolloutOf('a', 'x', 1, { calls, tookMs: 6_000 })], {
      assumed,
      dataset: { rows: 25, nearDuplicates: 0, pairs: [], overlap: null },
    }),
  );
  // Two calls of 8 + 2 s, 8 s for the last message, 2 s for the rest.
  expect(burst).toMatchObject({ callS: 2, gradeS: 2, rolloutS: 30, callsPerStep: 200, stepsPerEpoch: 3 });
  expect(burst?.sandboxHoursPerStep).toBeCloseTo(100 * (30 / 3600), 9);
  expect(burst?.callsPerSecond).toBeCloseTo(200 / 30, 9);
});

describe('a ceiling', () => {
  const ceilings = [{ name: 'second-coder', mean: 0.7123 }];
  const under = (score: number) => studyOf(asked(varied({ a: [score, score] }), { ceilings }));

  const advice = (score: number) => under(score).advice.find(({ topic }) => topic === 'ceiling');

  test('says whether somebody is paid more than people are by each other', () => {
    expect(advice(0.5)).toMatchObject({
      weight: 'good',
      found: expect.stringContaining('0.71, the score of second-coder'),
      todo: null,
    });
    expect(advice(0.9)).toMatchObject({
      weight: 'look',
      todo: expect.stringContaining('first is paid more'),
    });
    expect(adviceOf(varied({ a: [0.9] }), 'ceiling')).toBeUndefined();
  });

  test('is a dashed line with its name across the rewards by item and the best of k, and across nothing else', () => {
    const html = studyPage(under(0.5));
    const drawn = html.split('<svg ').filter((svg) => svg.includes('second-coder 0.71'));
    expect(drawn).toHaveLength(2);
    for (const svg of drawn) expect(svg).toMatch(/stroke-dasharray/);
    expect(studyPage(studyOf(asked(varied({ a: [0.5, 0.5] }))))).not.toContain('second-coder');
  });
});

/** Drawings are numbered as they are drawn. */
const page = (drawn: Study) => studyPage(drawn).replaceAll(/zr\d+/g, 'zr');

test('the same rollouts give the same study and the same page, in whatever order they come', () => {
  const turned = { ...searcher, rollouts: searcher.rollouts.toReversed() };
  const study = studyOf(asked([], { subjects: [turned, reader], against: reader }));
  expect(study).toEqual(both);
  expect(page(study)).toBe(page(both));
});

describe('the page', () => {
  test('is one file without a script or anything from elsewhere, with a drawing for each thing that is looked at', () => {
    const html = studyPage(both);
    expect(html).not.toMatch(/<script|<link|<img|url\(http|src=/);
    // Items, best of k, calls by tool, their histogram, sizes, latency, quadrants, bigrams, parts.
    expect(html.match(/<svg /g)).toHaveLength(9);
    expect(html).toContain('15 % of the items have spread under one-search');
  });

  test('a name that a policy or a dataset chose is nothing but words of it', () => {
    const evil = '</style><script>alert(1)</script>\u202E';
    const rollouts = [0, 1, 0].map((score, index) =>
      rolloutOf(`${evil}${index}`, evil, score, {
        calls: [callOf(evil, evil), callOf(evil, evil)],
        parts: [
          { part: evil, score, reason: '' },
          { part: `${evil} > x`, score, reason: '' },
        ],
      }),
    );
    const html = studyPage(studyOf(asked(rollouts, { environment: evil, missing: [evil] })));
    expect([html.includes('<script'), html.includes('\u202E')]).toEqual([false, false]);
  });

  test('of nothing but lost rollouts says that nothing is known', () => {
    const study = studyOf(asked(copiesOf({ a: [null, null] })));
    expect(studyPage(study)).toContain('Nothing can be said of spread under first.');
    expect(describeStudy(study, Infinity)).toContain('no zero was made of it');
  });
});

test('the terminal has a line for each subject and a sentence for each finding, the worst first', () => {
  const text = describeStudy(both, Infinity);
  expect(text).toMatch(/one-search +160 +1 +0\.\d\d/);
  const marks = [...text.matchAll(/^ {2}(✕|→|✓) /gm)].map(([, mark]) => mark);
  expect(marks).toEqual([...marks].sort((a = '', b = '') => '✕→✓'.indexOf(a) - '✕→✓'.indexOf(b)));
  expect(marks).toHaveLength(both.advice.length);
});

test('a name with line breaks forges no line of the terminal', () => {
  const forged = 'a\n  ✓  all is well\u001B[2J';
  const study = studyOf(
    asked([], {
      subjects: [{ name: forged, what: 'run', rollouts: varied({ a: [0, 1] }) }],
      missing: [forged],
    }),
  );
  const lines = describeStudy(study, Infinity).split('\n');
  expect(lines.filter((line) => line.startsWith('  ✓  all is well') || line.includes('\u001B'))).toEqual([]);
});
