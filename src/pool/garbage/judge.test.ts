import { expect, test } from 'vitest';
import { sandboxId } from '#src/model/ids.ts';
import { rolloutKey } from '#src/model/rollout.ts';
import { fakeOwner } from '#test/fakes/rollout-record.ts';
import { decide, differences, garbage } from './judge.ts';

const sandbox = sandboxId('sandbox-1');
const patience = { strangerMs: 60_000, missingMs: 15_000, silentMs: 7_200_000 };
const rollout = rolloutKey(fakeOwner());

test('what both have is no difference; what one lacks is named', () => {
  const [both, mine, theirs] = [sandboxId('both'), sandboxId('mine'), sandboxId('theirs')];
  const known = new Map([both, mine].map((one) => [one, { phase: 'ready' }]));
  expect(differences([both, theirs], known)).toEqual([
    { kind: 'stranger', sandbox: theirs },
    { kind: 'missing', sandbox: mine, phase: 'ready' },
  ]);
});

test.each([
  {
    why: 'a young stranger may be a launch',
    kind: 'stranger',
    phase: '',
    lastingMs: 59_999,
    decision: 'wait',
  },
  { why: 'an old stranger is asked', kind: 'stranger', phase: '', lastingMs: 60_000, decision: 'ask' },
  { why: 'one list without it is no loss', kind: 'missing', phase: 'ready', lastingMs: 0, decision: 'wait' },
  {
    why: 'missing for two looks is lost',
    kind: 'missing',
    phase: 'ready',
    lastingMs: 15_000,
    decision: 'lose',
  },
  {
    why: 'a start has its own timeout',
    kind: 'missing',
    phase: 'starting',
    lastingMs: 99_000,
    decision: 'wait',
  },
  {
    why: 'what drained is forgotten',
    kind: 'missing',
    phase: 'draining',
    lastingMs: 15_000,
    decision: 'forget',
  },
] as const)('$why', ({ kind, phase, lastingMs, decision }) => {
  expect(decide({ kind, sandbox, phase }, lastingMs, patience)).toBe(decision);
});

test.each([
  {
    why: "an unbound stranger is nobody's",
    answer: { kind: 'unbound' },
    lastingMs: 60_000,
    reason: 'unbound',
  },
  {
    why: 'a live rollout keeps its sandbox',
    answer: { kind: 'bound', rollout, state: 'live_here' },
    lastingMs: 9e9,
    reason: null,
  },
  {
    why: 'a rollout that went elsewhere does not come back',
    answer: { kind: 'bound', rollout, state: 'live_elsewhere' },
    lastingMs: 60_000,
    reason: 'rollout_ended',
  },
  {
    why: 'an ended rollout needs none',
    answer: { kind: 'bound', rollout, state: 'ended' },
    lastingMs: 60_000,
    reason: 'rollout_ended',
  },
  {
    why: 'a rollout that fleet state forgot may still be right',
    answer: { kind: 'bound', rollout, state: 'unknown' },
    lastingMs: 9e9,
    reason: null,
  },
  { why: 'silence is no answer', answer: { kind: 'silent' }, lastingMs: 3_600_000, reason: null },
  {
    why: 'silence beyond every life is an end',
    answer: { kind: 'silent' },
    lastingMs: 7_200_000,
    reason: 'never_answered',
  },
] as const)('$why', ({ answer, lastingMs, reason }) => {
  expect(garbage(answer, lastingMs, patience)).toBe(reason);
});
