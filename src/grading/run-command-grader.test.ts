import { expect, test } from 'vitest';
import { endOf, scoreIn } from './run-command-grader.ts';
import { type MirrorCounts, noCounts } from '../protocol/sandboxd/mirror-tally.ts';
import { anAnswer } from '#test/builders/call-answer.ts';

test('a grader that still runs after its timeout and all that is around it says nothing of the policy', () => {
  const leaf = {
    kind: 'command',
    argv: ['verify'],
    files: {},
    timeoutMs: 1_000,
    onExit: 0,
    onTimeout: 0,
    onOutOfMemory: 0,
    onBroken: 0,
  } as const;
  expect(() => endOf(leaf, 'running')).toThrow(
    expect.objectContaining({
      code: 'grader_failed',
      evidence: { errno: 'ETIMEDOUT', suspected: 'command' },
    }),
  );
});

test.each([
  ['0.5\n', 0.5],
  ['1', 1],
  ['-2e-1', -0.2],
])('a score file with %j is a score', (text, score) => {
  expect(scoreIn(text)).toBe(score);
});

test.each(['', ' \n', 'NaN', 'Infinity', '1e999', '0.5 points', '{"score":1}', `0.${'1'.repeat(300)}`])(
  'a score file with %j is no score',
  (text) => {
    expect(scoreIn(text)).toBeNull();
  },
);

const leaf: Parameters<typeof endOf>[0] = {
  kind: 'command',
  argv: ['check'],
  files: {},
  timeoutMs: 1,
  onExit: 0.25,
  onTimeout: 0,
  onOutOfMemory: 0,
  onBroken: 0,
};

const answered = (mirrors?: Partial<MirrorCounts>) => ({
  ...anAnswer({
    evidence: {
      ...(mirrors && {
        mirrors: { ...noCounts, asked: 3, doubt: null, ...mirrors },
      }),
    },
  }),
  grade: { kind: 'ran', score: '0' } as const,
});

test.each([undefined, {}])(
  'a grader whose requests to mirrors were answered has its score: %j',
  (mirrors) => {
    expect(endOf(leaf, answered(mirrors)).grade).toEqual({ kind: 'scored', score: 0 });
  },
);

test.each([{ failed: 1 }, { refused: 1 }, { confirmed: 1 }, { lost: 1 }])(
  'a grader with %j requests has none, and the policy is suspected',
  (mirrors) => {
    expect(() => endOf(leaf, answered(mirrors))).toThrow(
      expect.objectContaining({
        code: 'grader_failed',
        evidence: { errno: 'EMIRROR', suspected: 'command' },
      }),
    );
  },
);
