import { expect, test } from 'vitest';
import { byPolicy, type ByPolicy, lossByPolicy } from './meanings/by-policy.ts';
import { mayBeCommand, mayBePolicys, suspectedIn, suspectedOf, verdictOf } from './verdict.ts';

test.each(['sandboxd_killed', 'sandbox_exited', 'boot_changed', 'out_of_memory'] as const)(
  'a sandbox lost by %s may have been broken by a command that left no proof',
  (cause) => expect(suspectedOf('sandbox_lost', cause)).toBe('command'),
);

test.each(['deleted', 'preempted', 'node_drained', 'pod_replaced', 'expired'] as const)(
  'a sandbox lost by %s was ended from outside, so no command is suspected',
  (cause) => expect(suspectedOf('sandbox_lost', cause)).toBeNull(),
);

test.each(['evicted', 'node_lost', 'node_out_of_memory'] as const)(
  'a sandbox lost by %s has its mark from the provider that saw it',
  (cause) => {
    expect(suspectedOf('sandbox_lost', cause)).toBeNull();
    expect(suspectedOf('sandbox_lost', cause, mayBePolicys)).toBe('command');
    expect(suspectedOf('outcome_unknown', null, {})).toBe('command');
  },
);

test('a sandbox that went silent under a command may have been starved by it', () => {
  expect(suspectedOf('outcome_unknown', null)).toBe('command');
});

test('a failed backend has its mark from the probes that saw it', () => {
  expect(suspectedOf('dependency_failed', null)).toBeNull();
  expect(suspectedIn({ suspected: 'dependency' })).toBe('dependency');
});

const marked = (told: Readonly<Record<string, ByPolicy>>) =>
  Object.entries(told).flatMap(([name, { alone }]) => (alone === 'marked' ? [name] : []));

test('what docs/failures.md calls marked is marked, and nothing else', () => {
  const causes = Object.keys(lossByPolicy) as (keyof typeof lossByPolicy)[];
  expect(marked(lossByPolicy)).toEqual(causes.filter((cause) => mayBeCommand[cause] !== false));
  // The marks of a grader and of a backend come with their failures.
  expect(marked(byPolicy)).toEqual(['sandbox_lost', 'outcome_unknown', 'dependency_failed', 'grader_failed']);
});

const lost = { code: 'sandbox_lost', cause: 'sandboxd_killed', suspected: 'command' } as const;

test('a rollout that is not discarded is scorable, and a discard has its code, cause and mark', () => {
  expect(verdictOf({ discarded: null })).toEqual({ kind: 'scorable' });
  expect(verdictOf({ discarded: { ...lost, evidence: {}, atMs: 1 } })).toEqual({ kind: 'discard', ...lost });
});
