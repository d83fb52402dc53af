import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { rolloutId } from '#src/model/ids.ts';
import { answering } from '#test/fakes/sandbox-link.ts';
import { LinkError } from '#src/ports/sandbox-link.ts';
import { caller, CoreWorld } from '#test/support/core-world.ts';

const never = () => new Promise<never>(() => undefined);

test('arguments that break the schema are text for the model, and nothing runs', async () => {
  await using world = await CoreWorld.start();
  await world.ready();
  const result = await world.call('trace_1', 'call_1', 'sh', { cmd: 'ls' });
  expect(result).toMatchObject({ outcome: 'refused', code: 'bad_arguments' });
  expect(result.output).toMatch(/^Error: /);
  expect(world.link.ran).toEqual([]);
});

test('a tool that the job names and the environment lacks is the caller’s failure, not the model’s', async () => {
  await using world = await CoreWorld.start();
  await expect(world.call('trace_1', 'call_1', 'web', {})).rejects.toMatchObject({
    code: 'tool_not_configured',
  });
});

test('the budget counts calls, not repeats; what goes beyond it is text for the model', async () => {
  await using world = await CoreWorld.start();
  await world.ready();
  for (let call = 1; call <= 10; call += 1) await world.sh('trace_1', `call_${call}`, 'echo');
  await world.sh('trace_1', 'call_1', 'echo');
  const beyond = await world.sh('trace_1', 'call_11', 'echo');
  expect(beyond).toMatchObject({ outcome: 'refused', code: 'budget_spent' });
  expect(world.link.ran).toHaveLength(10);
});

test.each([
  ['an exit code', { kind: 'exited', exitCode: 137 }, 'completed', null],
  ['a signal', { kind: 'signalled', signal: 'SIGKILL' }, 'completed', null],
  ['its own timeout', { kind: 'timed_out', timeoutMs: 1000 }, 'timed_out', 'command_timeout'],
  [
    'no such program',
    { kind: 'not_started', errno: 'ENOENT', message: 'x' },
    'refused',
    'command_not_started',
  ],
] as const)('a command that ends by %s is an answer', async (_name, ending, outcome, code) => {
  await using world = await CoreWorld.start();
  await world.ready();
  world.link.behaviour = () => answering({ ending });
  expect(await world.sh('trace_1', 'call_1', 'x')).toMatchObject({ outcome, code });
});

test('a tool whose backend failed taints the rollout: no result, no grade', async () => {
  await using world = await CoreWorld.start();
  await world.ready();
  world.backend.state = 'answered 503';
  world.link.behaviour = () =>
    answering({ stderr: 'index is down', ending: { kind: 'exited', exitCode: 75 } });
  await expect(world.call('trace_1', 'call_1', 'look_up', { command: 'x' })).rejects.toMatchObject({
    code: 'dependency_failed',
    admitted: 'yes',
  });
  await expect(world.sh('trace_1', 'call_2', 'echo')).rejects.toMatchObject({ code: 'dependency_failed' });
  await expect(world.grade('trace_1', 'yes')).rejects.toMatchObject({ code: 'dependency_failed' });
});

test('the same exit code of a tool that depends on nothing is the model’s', async () => {
  await using world = await CoreWorld.start();
  await world.ready();
  world.link.behaviour = () => answering({ ending: { kind: 'exited', exitCode: 75 } });
  expect(await world.sh('trace_1', 'call_1', 'exit 75')).toMatchObject({
    exitCode: 75,
    outcome: 'completed',
  });
});

test('a sandbox killed while its command runs: 503 for the call, for every later one and for the grader', async () => {
  await using world = await CoreWorld.start();
  const sandbox = await world.ready();
  await world.ready();
  world.link.behaviour = never;
  const call = world.sh('trace_1', 'call_1', 'sleep');
  const told = expect(call).rejects.toMatchObject({ code: 'sandbox_lost', admitted: 'unknown' });
  await sleep(100);
  world.link.kill(sandbox);
  await world.state.lifecycle.lose(sandbox, null, 'sandboxd_killed', { signal: 'SIGKILL' });
  await told;
  const repeat = world.sh('trace_1', 'call_1', 'sleep');
  await expect(repeat).rejects.toMatchObject({ code: 'sandbox_lost', admitted: 'unknown' });
  await expect(world.sh('trace_1', 'call_2', 'echo')).rejects.toMatchObject({
    code: 'sandbox_lost',
    evidence: { cause: 'sandboxd_killed' },
  });
  await expect(world.grade('trace_1', 'yes')).rejects.toMatchObject({ code: 'sandbox_lost' });
});

test.each([
  ['sandboxd_killed', 'command'],
  ['node_lost', null],
] as const)(
  'a command whose sandbox was lost by %s: the verdict is marked as suspected %s, and what had run is written down',
  async (cause, suspected) => {
    await using world = await CoreWorld.start();
    const sandbox = await world.ready();
    world.link.behaviour = never;
    const told = expect(world.sh('trace_1', 'call_1', 'eat all processes')).rejects.toThrow();
    await vi.waitUntil(() => world.link.ran.includes('call_1'));
    world.link.kill(sandbox);
    await world.state.lifecycle.lose(sandbox, null, cause, {});
    await told;
    const command = JSON.stringify({ command: 'eat all processes' });
    expect(world.events).toMatchObject([{ kind: 'lost_command', call: 'call_1', command, keyId: 'trainer' }]);
    const { verdict } = await world.wired.core.view(caller, {
      rollout: rolloutId('trace_1'),
      attempt: null,
    });
    const mark = suspected === null ? {} : { suspected };
    expect(verdict).toEqual({ kind: 'discard', code: 'sandbox_lost', cause, ...mark });
  },
);

test('a command that takes the sandbox down with it is the model’s: text for it and later calls, and a grade', async () => {
  await using world = await CoreWorld.start();
  const sandbox = await world.ready();
  await world.sh('trace_1', 'call_1', 'echo');
  world.link.behaviour = never;
  const call = world.sh('trace_1', 'call_2', 'eat all memory');
  await vi.waitUntil(() => world.link.ran.includes('call_2'));
  world.link.kill(sandbox);
  await world.state.lifecycle.lose(sandbox, null, 'out_of_memory', {});
  const reason = 'a command used up all of its memory';
  const down = { outcome: 'completed', code: 'sandbox_broken', output: `Error: went down: ${reason}` };
  expect(await call).toMatchObject({ ...down, replayed: true });
  expect(await world.sh('trace_1', 'call_2', 'eat all memory')).toMatchObject(down);
  expect(await world.sh('trace_1', 'call_3', 'echo')).toMatchObject({ output: `Error: ${reason}` });
  expect(await world.grade('trace_1', 'yes')).toMatchObject({ score: 1 });
});

test('a command grader of a rollout that broke its sandbox is worth what the environment says of that', async () => {
  const worth = { onExit: 1, onTimeout: 1, onOutOfMemory: 1, onBroken: 0.25 };
  const grader = { kind: 'command', argv: ['verify'], files: {}, timeoutMs: 1_000, ...worth } as const;
  await using world = await CoreWorld.start({ grader });
  const sandbox = await world.ready();
  world.link.behaviour = never;
  const call = world.sh('trace_1', 'call_1', 'eat all memory');
  await vi.waitUntil(() => world.link.ran.includes('call_1'));
  world.link.kill(sandbox);
  await world.state.lifecycle.lose(sandbox, null, 'out_of_memory', {});
  await call;
  expect(await world.grade('trace_1', 'x')).toMatchObject({ score: 0.25 });
  expect(world.events.at(-1)).toMatchObject({ kind: 'verdict', suspected: 'command' });
});

test('a sandbox killed before the first call is swapped silently and the rollout is scorable', async () => {
  await using world = await CoreWorld.start();
  const first = await world.ready();
  await world.ready();
  await world.open('trace_1', { rollout: rolloutId('trace_1') });
  world.link.kill(first);
  await world.state.lifecycle.lose(first, null, 'sandboxd_killed', {});
  expect(await world.sh('trace_1', 'call_1', 'echo')).toMatchObject({ output: 'echo' });
  const view = await world.wired.core.view(caller, { rollout: rolloutId('trace_1'), attempt: null });
  expect(view.verdict).toEqual({ kind: 'scorable' });
});

test('a sandbox of another life answers: the rollout is tainted at that moment, nothing runs in the new life', async () => {
  await using world = await CoreWorld.start();
  const sandbox = await world.ready();
  await world.sh('trace_1', 'call_1', 'echo');
  world.link.start(sandbox, 'boot-new');
  await expect(world.sh('trace_1', 'call_2', 'echo')).rejects.toMatchObject({
    code: 'sandbox_lost',
    evidence: { cause: 'boot_changed', boot_after: 'boot-new' },
  });
  expect(world.link.ran).toEqual(['call_1']);
});

test('every settled call is recorded once with its blame', async () => {
  await using world = await CoreWorld.start();
  await world.ready();
  await world.sh('trace_1', 'call_1', 'echo');
  await world.sh('trace_1', 'call_1', 'echo');
  await world.call('trace_1', 'call_2', 'sh', {});
  expect(world.events.map((event) => (event.kind === 'call_settled' ? event.blame : event.kind))).toEqual([
    null,
    'model',
  ]);
});

test('an answered call’s event names the life that it was sent to and the life that answered', async () => {
  await using world = await CoreWorld.start();
  await world.ready();
  await world.sh('trace_1', 'call_1', 'echo');
  expect(world.events).toMatchObject([{ epoch: { boot: 'boot-1' }, evidence: { boot_after: 'boot-1' } }]);
});

test('a file that breaks off in the middle names its sandbox, which a policy can keep from answering', async () => {
  await using world = await CoreWorld.start();
  await world.ready();
  await world.sh('trace_1', 'call_1', 'echo');
  world.link.getFile = async () => half();
  const ref = { rollout: rolloutId('trace_1'), attempt: null };
  const from = { path: 'a', user: 'policy', form: 'file', mostBytes: 1_000 } as const;
  const bytes = await world.wired.core.getFile(caller, ref, from);
  await expect(Array.fromAsync(bytes)).rejects.toMatchObject({ code: 'sandboxd_unreachable' });
});

async function* half() {
  yield Buffer.from('half');
  throw new LinkError({ kind: 'maybe_sent', detail: 'reset' });
}

test.each([
  ['ETIMEDOUT', { code: 'sandboxd_unreachable', blame: 'infrastructure' }],
  ['ENOENT', { code: 'invalid_request', blame: 'caller' }],
])('a file that cannot be read because of %s is blamed on whom it concerns', async (errno, failure) => {
  await using world = await CoreWorld.start();
  await world.ready();
  await world.open('trace_1');
  const trouble = { kind: 'refused', status: 422, code: 'file_error', message: 'why', errno } as const;
  world.link.failNext('getFile', trouble);
  const from = { path: 'x', user: 'policy', form: 'file', mostBytes: 100 } as const;
  const rollout = { rollout: rolloutId('trace_1'), attempt: null };
  await expect(world.wired.core.getFile(caller, rollout, from)).rejects.toMatchObject(failure);
});
