import { expect, test } from 'vitest';
import { signalOf, signalOfAll } from './signal.ts';
import type { RolloutTruth } from './truth.ts';

const endings = {
  lost: { kind: 'discarded', code: 'sandbox_lost', cause: null, at: 'tool call', message: '' },
  cancelled: { kind: 'cancelled' },
} as const;

/** A group of the same task; numbers are rewards. */
const group = (task: string, ...ended: readonly (number | keyof typeof endings)[]): readonly RolloutTruth[] =>
  ended.map((one, copy) => ({
    rollout: `${task}_${copy}`,
    group: task,
    startedMs: 0,
    endedMs: 1,
    calls: [],
    ending: typeof one === 'number' ? { kind: 'scored', score: one } : endings[one],
  }));

test('a step whose rollouts are all scored has lost nothing', () => {
  const step = [...group('a', 1, 0, 1), ...group('b', 0, 0)];
  expect(signalOf(step)).toEqual({ groups: 2, groupsHurt: 0, expected: 5, lost: 0 });
});

test('a discarded rollout takes its own part, and hurts its group', () => {
  const step = [...group('a', 1, 3, 2, 'lost'), ...group('b', 0, 1, 1, 0)];
  expect(signalOf(step)).toEqual({ groups: 2, groupsHurt: 1, expected: 8, lost: 1 });
});

test('a group that is left with one reward teaches nothing at all', () => {
  expect(signalOf(group('a', 1, 'lost', 'lost'))).toEqual({ groups: 1, groupsHurt: 1, expected: 3, lost: 3 });
});

test('what the trainer gave up itself was not expected, and a group of one never is', () => {
  const step = [...group('a', 1, 2, 'cancelled'), ...group('b', 1, 'cancelled'), ...group('c', 'cancelled')];
  expect(signalOf(step)).toEqual({ groups: 2, groupsHurt: 0, expected: 2, lost: 0 });
});

test('steps add up', () => {
  const steps = [group('a', 1, 1, 'lost'), group('b', 1, 1)].map(signalOf);
  expect(signalOfAll(steps)).toEqual({ groups: 2, groupsHurt: 1, expected: 5, lost: 1 });
});
