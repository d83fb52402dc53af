import { expect, test } from 'vitest';
import { fakeEnvironment } from '#test/fakes/environment.ts';
import { maxPauseMs } from './paused-clock.ts';
import { aroundGraderMs, type Grader } from '../model/grader.ts';

const bad = { onExit: 0, onTimeout: 0, onOutOfMemory: 0, onBroken: 0 };
const command = (timeoutMs: number): Extract<Grader, { kind: 'command' }> => ({
  kind: 'command',
  argv: ['true'],
  files: {},
  timeoutMs,
  ...bad,
});
const environment = (grader: Grader, gradeMs: number) => {
  const { limits, ...rest } = fakeEnvironment({ grader });
  return { ...rest, limits: { ...limits, gradeMs } };
};

test.each([
  ['four times its timeout, if a grade may take that long', command(10_000), 1_800_000, 40_000],
  [
    'half of what the longest grade leaves',
    command(100_000),
    300_000,
    (300_000 - 100_000 - aroundGraderMs) / 2,
  ],
  ['nothing, if the longest grade leaves nothing', command(100_000), 100_000 + aroundGraderMs, 0],
])('the clock of a grader may stand still for %s', (_, grader, gradeMs, mostMs) => {
  expect(maxPauseMs(environment(grader, gradeMs), grader)).toBe(mostMs);
});

test('two graders share what the longest grade leaves', () => {
  const [one, other] = [command(100_000), command(50_000)];
  const both: Grader = { kind: 'weighted', parts: [one, other].map((grader) => ({ weight: 1, grader })) };
  const spareMs = 120_000;
  const graded = environment(both, 150_000 + 2 * aroundGraderMs + spareMs);
  expect(maxPauseMs(graded, one) + maxPauseMs(graded, other)).toBe(spareMs / 2);
});
