import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { callId, rolloutId, type SandboxId } from '#src/model/ids.ts';
import { systemClock } from '#src/platform/clock.ts';
import type { Clock } from '#src/ports/clock.ts';
import { callDigest } from '#src/tools/arguments.ts';
import { answering } from '#test/fakes/sandbox-link.ts';
import { caller, CoreWorld } from '#test/support/core-world.ts';

const times = 100;
/** Real time, so many times as fast: for waits of minutes beside a real Redis. */
const quickClock: Clock = {
  nowMs: () => systemClock.nowMs(),
  monotonicMs: () => systemClock.monotonicMs() * times,
  sleep: (durationMs, signal) => systemClock.sleep(durationMs / times, signal),
};
/** Of the quick clock: more than a call of two seconds is tried for, which is half a minute beyond. */
const aWhile = () => sleep(60_000 / times);

const view = (world: CoreWorld) =>
  world.wired.core.view(caller, { rollout: rolloutId('trace_1'), attempt: null });

/** A rollout with one call behind it, at a gateway whose minutes are short, whose sandbox takes no connection any more. */
async function cutOff() {
  const world = await CoreWorld.start();
  const sandbox: SandboxId = await world.ready();
  const { core } = world.gateway(undefined, quickClock);
  await world.sh('trace_1', 'call_1', 'echo');
  world.link.refuse(sandbox);
  return { world, sandbox, core };
}

test('a call that could not be sent for longer than its own time is sent when its sandbox answers', async () => {
  const { world, sandbox, core } = await cutOff();
  await using _ = world;
  world.waitMs = 540_000;
  const call = world.sh('trace_1', 'call_2', 'hello', core);
  await aWhile();
  world.link.accept(sandbox);
  expect(await call).toMatchObject({ outcome: 'completed', output: 'hello' });
  expect(world.link.ran).toEqual(['call_1', 'call_2']);
  const { record, verdict } = await view(world);
  expect(record).toMatchObject({ calls: 2, inFlight: 0 });
  expect(verdict).toEqual({ kind: 'scorable' });
});

test('a call that was never sent taints nothing and costs nothing when its trainer has given up', async () => {
  const { world, sandbox, core } = await cutOff();
  await using _ = world;
  world.waitMs = 10_000;
  await expect(world.sh('trace_1', 'call_2', 'hello', core)).rejects.toMatchObject({ code: 'still_running' });
  await vi.waitUntil(async () => (await view(world)).record.inFlight === 0, { timeout: 5_000 });
  world.link.accept(sandbox);
  expect((await view(world)).record).toMatchObject({ calls: 1, discarded: null });
  expect(await world.grade('trace_1', 'yes')).toMatchObject({ score: 1 });
});

test('a call that a gateway which died may have sent is not taken back by the next, whose connections are all refused', async () => {
  const { world, core } = await cutOff();
  await using _ = world;
  const { key } = (await view(world)).record;
  const asked = {
    key,
    call: callId('call_2'),
    sender: 'try-1',
    tool: 'sh',
    digest: callDigest('sh', { command: 'hello' }),
  };
  const limits = { timeoutMs: 60_000, idleMs: 60_000, budget: { toolCalls: 10, rolloutMs: 60_000 } };
  await world.state.calls.admit({ ...asked, ...limits, activation: null });
  world.waitMs = 10_000;
  await expect(world.sh('trace_1', 'call_2', 'hello', core)).rejects.toMatchObject({ code: 'still_running' });
  await aWhile();
  expect((await view(world)).record).toMatchObject({ calls: 2, inFlight: 1 });
});

test('a call that another gateway was told to send meanwhile is not withdrawn, and runs once', async () => {
  const { world, sandbox, core } = await cutOff();
  await using _ = world;
  world.waitMs = 540_000;
  const first = world.sh('trace_1', 'call_2', 'hello', core);
  await sleep(50);
  const second = world.sh('trace_1', 'call_2', 'hello');
  await aWhile();
  world.link.accept(sandbox);
  expect(await Promise.all([first, second])).toMatchObject([{ output: 'hello' }, { output: 'hello' }]);
  expect(world.link.ran).toEqual(['call_1', 'call_2']);
  expect((await view(world)).record).toMatchObject({ calls: 2, discarded: null });
});

test('a sandbox that has had as many calls as it takes: the model is told at once, and nothing waits', async () => {
  const world = await CoreWorld.start();
  await using _ = world;
  await world.ready();
  await world.sh('trace_1', 'call_1', 'echo');
  const trouble = { kind: 'refused', status: 409, code: 'calls_used_up', message: 'enough' } as const;
  world.link.failNext('call', trouble);
  const told = await world.sh('trace_1', 'call_2', 'hello');
  expect(told).toMatchObject({ outcome: 'refused', code: 'budget_spent' });
  world.link.behaviour = () => answering({ stdout: 'not run' });
  expect(await world.sh('trace_1', 'call_2', 'hello')).toMatchObject({
    code: 'budget_spent',
    replayed: true,
  });
  expect((await view(world)).record).toMatchObject({ inFlight: 0, discarded: null });
});
