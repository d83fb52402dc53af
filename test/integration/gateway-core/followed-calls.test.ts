import { expect, test } from 'vitest';
import type { GatewayCore, Progress } from '#services/gateway/core-interface.ts';
import { callId, rolloutId } from '#src/model/ids.ts';
import { answering } from '#test/fakes/sandbox-link.ts';
import { caller, CoreWorld } from '#test/support/core-world.ts';

/* Commands that are followed while they run, over a real Redis and sandboxes in memory. */

const native = { ...caller, face: 'native' } as const;
const ref = { rollout: rolloutId('trace_1'), attempt: null };

/** A rollout with a ready sandbox, and a command in it that runs until the test ends it. */
async function started() {
  const world = await CoreWorld.start();
  const sandbox = await world.ready();
  await world.open('trace_1');
  const done = Promise.withResolvers<void>();
  world.link.behaviour = async () => {
    await done.promise;
    return answering({ stdout: 'all of it' });
  };
  const begin = (core: GatewayCore = world.wired.core) =>
    core.begin(native, {
      rollout: ref,
      call: callId('c1'),
      argv: ['make'],
      stream: true,
      openStdin: true,
      timeoutMs: null,
      waitMs: 20_000,
    });
  const follow = (from = 0, { core = world.wired.core, waitMs = 20_000, gone = never } = {}) =>
    core.follow(native, ref, callId('c1'), { from: { stdout: from, stderr: 0 }, waitMs, gone });
  return { world, sandbox, done, begin, follow };
}

const never = new AbortController().signal;

async function read(progress: AsyncIterable<Progress>): Promise<readonly string[]> {
  const seen: string[] = [];
  for await (const each of progress)
    seen.push(each.kind === 'output' ? Buffer.from(each.base64, 'base64').toString() : `(${each.kind})`);
  return seen;
}

test('a command is sent once however often it is begun, and followed by any gateway from any offset', async () => {
  const { world, done, begin, follow } = await started();
  await using _ = world;
  await begin();
  await begin();
  const other = world.gateway();
  await begin(other.core);
  const [here, there] = [read(await follow()), read(await follow(4, { core: other.core }))];
  done.resolve();
  expect(await here).toEqual(['all of it', '(end)']);
  expect(await there).toEqual(['of it', '(end)']);
  expect(world.link.ran).toEqual(['c1']);
  // What is settled comes from its answer.
  await other.close();
  await world.wired.close();
  const late = world.gateway();
  expect(await read(await follow(4, { core: late.core }))).toEqual(['of it', '(end)']);
  expect(world.link.told).toContain('c1');
  await late.close();
});

test('a call whose sandbox is lost ends its stream with the loss, which the stream has no part in', async () => {
  const { world, sandbox, begin, follow } = await started();
  await using _ = world;
  await begin();
  const followed = read(await follow());
  world.link.kill(sandbox);
  await world.state.lifecycle.lose(sandbox, null, 'pod_replaced', {});
  await expect(followed).rejects.toMatchObject({ code: 'sandbox_lost' });
  const { verdict } = await world.wired.core.view(native, ref);
  expect(verdict).toMatchObject({ kind: 'discard', code: 'sandbox_lost' });
});

test('connections that break, and readers that leave, change nothing of the call', async () => {
  const { world, sandbox, done, begin, follow } = await started();
  await using _ = world;
  await begin();
  const leaving = new AbortController();
  const left = read(await follow(0, { gone: leaving.signal }));
  const followed = read(await follow());
  world.link.cut(sandbox);
  leaving.abort();
  expect(await left).toEqual([]);
  done.resolve();
  expect(await followed).toEqual(['all of it', '(end)']);
  expect((await world.wired.core.view(native, ref)).verdict).toEqual({ kind: 'scorable' });
});

test('a stream whose request is over says to come again, and a call that was never sent is unknown', async () => {
  const { world, done, begin, follow } = await started();
  await using _ = world;
  await expect(follow()).rejects.toMatchObject({ code: 'unknown_call' });
  await begin();
  await expect(read(await follow(0, { waitMs: 50 }))).rejects.toMatchObject({ code: 'still_running' });
  done.resolve();
  expect(await read(await follow())).toEqual(['all of it', '(end)']);
});

test('stdin is taken once, and not after the command has ended', async () => {
  const { world, done, begin, follow } = await started();
  await using _ = world;
  await begin();
  const give = (offset: number, text: string) => {
    const piece = { offset, bytes: Buffer.from(text), isLast: false };
    return world.wired.core.giveStdin(native, ref, callId('c1'), piece, 20_000);
  };
  expect(await give(0, 'abc')).toEqual({ received: 3, open: true });
  world.link.failNext('stdin', { kind: 'maybe_sent', detail: 'reset' });
  expect(await give(0, 'abcd')).toEqual({ received: 4, open: true });
  await expect(give(9, 'x')).rejects.toMatchObject({ code: 'invalid_request' });
  done.resolve();
  expect(await read(await follow())).toEqual(['all of it', '(end)']);
  expect(await give(4, 'e')).toMatchObject({ open: false });
});

test('a command that nothing is sent for has an end without output', async () => {
  const { world, begin, follow, done } = await started();
  await using _ = world;
  done.resolve();
  await begin();
  await expect(
    world.wired.core.begin(native, {
      rollout: ref,
      call: callId('c1'),
      argv: ['other'],
      stream: true,
      timeoutMs: null,
      waitMs: 20_000,
    }),
  ).rejects.toMatchObject({ code: 'call_conflict' });
  expect((await read(await follow())).at(-1)).toBe('(end)');
});
