import { expect, test } from 'vitest';
import { signalOf } from '../trainer/signal.ts';
import type { RolloutTruth } from '../trainer/truth.ts';
import { type Discarded, verdictOf } from '../trainer/verdict.ts';
import { reportLines } from './soak-report.ts';

const lost = {
  kind: 'discarded',
  code: 'sandbox_lost',
  cause: 'node_lost',
  at: 'grader',
  message: 'gone',
} as const;

const truth = (rollout: string, ending: RolloutTruth['ending']): RolloutTruth => ({
  rollout,
  group: 'task',
  startedMs: 0,
  endedMs: 1,
  calls: [],
  ending,
});

function report(scores: readonly number[], reasons: readonly Discarded['reason'][]): readonly string[] {
  const scored = scores.map((score, copy) => truth(`scored_${copy}`, { kind: 'scored', score }));
  const discards = reasons.map((reason, copy) => ({ truth: truth(`lost_${copy}`, lost), reason }));
  const truths = [...scored, ...discards.map((each) => each.truth)];
  const verdict = verdictOf(truths, [], discards);
  return reportLines({ verdict, signals: [signalOf(truths)], truths, findings: [], discards, faults: [] });
}

test('the report says what the discards took from the step, and ends with the zeros', () => {
  const lines = report([1, 3, 2], ['forced']);
  expect(lines).toContain('  step 1   1 of 1 groups lost a member, 25.0 % of the signal (1 of 4 rollouts)');
  expect(lines).toContain('      1  sandbox_lost (node_lost) at the grader');
  expect(lines).toContain('  commands run twice                             0');
  expect(lines.at(-1)).toBe('All four zeros hold.');
});

test('a discard that nothing explains is told by its rollout', () => {
  expect(report([1, 1], ['beyond'])).toContain(
    '  beyond lost_0: sandbox_lost (node_lost) at the grader: gone',
  );
});

test('where clients gave up because the machine is slow, a person learns what to change', () => {
  expect(report([1], ['impatient']).join('\n')).toContain('take a lower --speed');
  expect(report(Array<number>(20).fill(1), ['impatient']).join('\n')).not.toContain('--speed');
});

test('zeros without a single score show nothing, and it is said', () => {
  expect(report([], ['impatient']).at(-1)).toContain('NOTHING SHOWN');
});

test('a model failure that was discarded is not clean', () => {
  expect(report([1], ['model']).at(-1)).toContain('NOT CLEAN');
});
