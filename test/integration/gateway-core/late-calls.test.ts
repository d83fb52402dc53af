import { expect, test } from 'vitest';
import { rolloutId, runId } from '#src/model/ids.ts';
import { rolloutKey } from '#src/model/rollout.ts';
import { fakeEnvironment } from '#test/fakes/environment.ts';
import { answering } from '#test/fakes/sandbox-link.ts';
import { caller, CoreWorld } from '#test/support/core-world.ts';

const { tenant } = caller;
const owner = {
  tenant,
  run: runId('run-1'),
  rollout: rolloutId('trace_1'),
  attempt: 1,
  role: 'policy',
} as const;
const key = rolloutKey(owner);

const { limits } = fakeEnvironment();
/** It really passes: long enough for five calls on a busy machine. Three calls of this output fill a sandbox's journal. */
const brief = { ...limits, rolloutMs: 5_000, outputBytes: 1024 * 1024 };

test('a call that waits in its sandbox until its rollout’s time is over does not run, and the rollout is scored', async () => {
  await using world = await CoreWorld.start({ limits: brief });
  await world.ready();
  const done = Promise.withResolvers<void>();
  world.link.behaviour = async () => {
    await done.promise;
    return answering({ stdout: 'ran' });
  };
  const first = ['call_1', 'call_2', 'call_3'].map((id) => world.sh('trace_1', id, 'slow'));
  await expect.poll(() => world.link.ran.length).toBe(3);
  const queued = ['call_4', 'call_5'].map((id) => world.sh('trace_1', id, 'queued'));
  const { received } = world.link;
  await expect.poll(() => received.size).toBe(5);
  await expect
    .poll(() => Math.max(...received.values()) - performance.now(), { timeout: 20_000 })
    .toBeLessThan(0);
  await expect.poll(() => world.state.calls.timeLeft(key, brief.rolloutMs)).toBe(0);
  done.resolve();
  for (const call of first) expect(await call).toMatchObject({ outcome: 'completed', output: 'ran' });
  const late = { outcome: 'refused', code: 'time_spent', output: expect.stringContaining('are spent') };
  for (const call of queued) expect(await call).toMatchObject(late);
  const other = world.gateway();
  expect(await world.sh('trace_1', 'call_4', 'queued', other.core)).toMatchObject({
    ...late,
    replayed: true,
  });
  await other.close();
  expect(world.link.ran).toEqual(['call_1', 'call_2', 'call_3']);
  expect(await world.grade('trace_1', 'yes', ['call_1'])).toMatchObject({ score: 1 });
});
