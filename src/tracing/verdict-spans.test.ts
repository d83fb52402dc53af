import { expect, test } from 'vitest';
import { callId, environmentVersion, sandboxId } from '../model/ids.ts';
import type { FleetEvent } from '../ports/event-log.ts';
import type { LossEffect } from '../ports/fleet/lifecycle.ts';
import { noTracer } from '../ports/tracer.ts';
import { createFakeLifecycleStore } from '#test/fakes/lifecycle-store.ts';
import { fakeRollout } from '#test/fakes/rollout-record.ts';
import { createFakeTracer } from '#test/fakes/tracer.ts';
import { launchRoot, rolloutRoot } from './names.ts';
import { tracedLifecycle, verdictSpans } from './verdict-spans.ts';

const rollout = fakeRollout({ version: environmentVersion('ab'.repeat(32)) });
const sandbox = sandboxId('sandbox-1');

const verdict: Extract<FleetEvent, { kind: 'verdict' }> = {
  kind: 'verdict',
  keyId: null,
  atMs: 9_000,
  key: rollout.key,
  environment: rollout.environment,
  version: rollout.version,
  verdict: { kind: 'scorable' },
  score: 1,
  suspected: null,
  evidence: { note: 'what a grader said' },
  openedAtMs: 1_000,
};

function told(event: FleetEvent) {
  const tracer = createFakeTracer();
  verdictSpans(tracer)(event);
  return tracer.told;
}

test('a verdict is the root of its rollout’s trace, from the rollout’s beginning, and nobody’s blame where it is scorable', () => {
  expect(told(verdict)).toEqual([
    {
      name: 'rollout',
      context: { ...rolloutRoot(rollout.key), sampled: true },
      parent: null,
      links: [],
      startMs: 1_000,
      endMs: 9_000,
      attributes: {
        'corral.tenant': 'tenant-1',
        'corral.run': 'run-1',
        'corral.rollout': 'rollout-1',
        'corral.attempt': 1,
        'corral.environment': 'plain',
        'corral.version': 'abababababab',
        'corral.verdict': 'scorable',
      },
    },
  ]);
});

test.each([
  ['sandbox_lost', 'infrastructure'],
  ['rollout_expired', 'caller'],
] as const)('a rollout that is discarded by %s is blamed on %s', (code, blame) => {
  const [root] = told({ ...verdict, verdict: { kind: 'discard', code, cause: 'evicted' } });
  expect(root?.attributes).toMatchObject({
    'corral.verdict': 'discard',
    'corral.code': code,
    'corral.blame': blame,
    'corral.cause': 'evicted',
  });
});

test('an event that is no verdict is no span', () => {
  const { key, environment, version, atMs } = verdict;
  const command = {
    kind: 'lost_command',
    keyId: null,
    key,
    environment,
    version,
    atMs,
    command: 'x',
  } as const;
  expect(told({ ...command, call: callId('call_1') })).toEqual([]);
});

test.each<readonly [LossEffect, object]>([
  [
    { kind: 'tainted', rollout },
    { 'corral.code': 'sandbox_lost', 'corral.blame': 'infrastructure' },
  ],
  [
    { kind: 'broken', rollout },
    { 'corral.code': 'sandbox_broken', 'corral.blame': 'model' },
  ],
  [{ kind: 'swapped', rollout }, {}],
])('a loss is part of its rollout’s trace and linked to the launch: %o', async (effect, blame) => {
  const [tracer, store] = [createFakeTracer(), createFakeLifecycleStore()];
  store.answers.effect = effect;
  await tracedLifecycle(store, tracer).lose(sandbox, null, 'evicted', { detail: 'a node’s own words' });
  expect(tracer.told).toMatchObject([
    { name: 'lose', parent: rolloutRoot(rollout.key).spanId, links: [launchRoot(sandbox)] },
  ]);
  expect(tracer.told[0]?.attributes).toEqual({
    'corral.sandbox': sandbox,
    'corral.cause': 'evicted',
    'corral.effect': effect.kind,
    ...blame,
  });
});

test('the end of a sandbox that was nobody’s is no span', async () => {
  const tracer = createFakeTracer();
  await tracedLifecycle(createFakeLifecycleStore(), tracer).lose(sandbox, null, 'deleted', {});
  expect(tracer.told).toEqual([]);
});

test('a rollout that its trainer ends without a verdict has a root, and one that has its verdict no other', async () => {
  const tracer = createFakeTracer();
  const closing = (given: Partial<typeof rollout>) => {
    const closed = fakeRollout({ ...given, state: 'closed' });
    const store = { ...createFakeLifecycleStore(), close: () => Promise.resolve(closed) };
    return tracedLifecycle(store, tracer).close(closed.key, 'finished');
  };
  await closing({ verdict: 'scored', score: 1 });
  await closing({ verdict: 'discarded' });
  expect(tracer.told).toEqual([]);
  await closing({});
  await closing({});
  expect(tracer.told).toMatchObject([
    { name: 'rollout', startMs: 1_000, endMs: 4_000, attributes: { 'corral.closed_by': 'finished' } },
    { name: 'rollout', startMs: 1_000, endMs: 4_000 },
  ]);
});

test('without a tracer the store is what it was', () => {
  const store = createFakeLifecycleStore();
  expect(tracedLifecycle(store, noTracer)).toBe(store);
});
