import { expect, test } from 'vitest';
import { callId, rolloutId } from '#src/model/ids.ts';
import type { FleetEvent } from '#src/ports/event-log.ts';
import { caller, CoreWorld, plain } from '#test/support/core-world.ts';

const line = (event: FleetEvent) => [event.kind, event.keyId];
const refOf = (rollout: string) => ({ rollout: rolloutId(rollout), attempt: null });

test('each event says whose key asked for it, also where another key asked before', async () => {
  await using world = await CoreWorld.start();
  await world.ready();
  await world.sh('trace_1', 'call_1', 'echo');
  await world.wired.core.exec(
    { ...caller, keyId: 'operator' },
    { rollout: refOf('trace_1'), call: callId('call_2'), argv: ['ls'], timeoutMs: null, waitMs: 5_000 },
  );
  await world.sh('trace_1', 'call_3', 'echo');
  await world.wired.core.grade(
    { ...caller, keyId: 'grader' },
    {
      rollout: refOf('trace_1'),
      open: { environment: plain, item: { id: 'item-1', answer: 'yes' } },
      sample: JSON.stringify({ output_text: 'yes' }),
      waitMs: 5_000,
    },
  );
  expect(world.events.map(line)).toEqual([
    ['call_settled', 'trainer'],
    ['call_settled', 'operator'],
    ['call_settled', 'trainer'],
    ['verdict', 'grader'],
  ]);
});

test('who ended a rollout is told once; a repeat, and the end of one that is over, are no news', async () => {
  await using world = await CoreWorld.start();
  await world.open('trace_1');
  const operator = { ...caller, keyId: 'operator' };
  await world.wired.core.close(operator, refOf('trace_1'), 'deleted', 0);
  await world.wired.core.close(operator, refOf('trace_1'), 'deleted', 0);
  expect(world.events).toMatchObject([
    { kind: 'rollout_closed', keyId: 'operator', by: 'deleted', environment: 'plain' },
  ]);
});

test('a burst that was announced is told with its size, and by whom', async () => {
  await using world = await CoreWorld.start();
  const burst = { environment: plain, rollouts: 3, neededAtMs: null, requirements: null };
  await world.wired.core.prewarm({ ...caller, keyId: 'nightly' }, burst);
  expect(world.events).toMatchObject([
    {
      kind: 'prewarm_announced',
      keyId: 'nightly',
      tenant: 'lab',
      run: 'run-1',
      environment: 'plain',
      count: 3,
    },
  ]);
});
