import { expect, test } from 'vitest';
import { callId, rolloutId, runId } from '#src/model/ids.ts';
import { rolloutKey } from '#src/model/rollout.ts';
import { answering } from '#test/fakes/sandbox-link.ts';
import { caller, CoreWorld, lookUpTwice, sh } from '#test/support/core-world.ts';

const key = rolloutKey({
  tenant: caller.tenant,
  run: runId('run-1'),
  rollout: rolloutId('trace_1'),
  attempt: 1,
  role: 'policy',
});

async function started() {
  const world = await CoreWorld.start({ tools: { sh, look_up: lookUpTwice } });
  const sandbox = await world.ready();
  await world.sh('trace_1', 'first', 'echo');
  return { world, sandbox };
}

test('an answer is in its sandbox alone, and any gateway gives it again in the same words', async () => {
  const { world } = await started();
  await using _ = world;
  world.link.behaviour = () =>
    answering({ stdout: 'out', stderr: 'err', ending: { kind: 'exited', exitCode: 3 } });
  const first = await world.sh('trace_1', 'c1', 'echo');
  world.link.behaviour = () => answering({ ending: { kind: 'timed_out', timeoutMs: 2_000 } });
  const late = await world.sh('trace_1', 'c2', 'sleep');
  const other = world.gateway();
  expect(await world.sh('trace_1', 'c1', 'echo', other.core)).toEqual({ ...first, replayed: true });
  expect(await world.sh('trace_1', 'c2', 'sleep', other.core)).toEqual({ ...late, replayed: true });
  expect(world.link.ran.filter((call) => call === 'c1')).toEqual(['c1']);
  await other.close();
});

test('a call is not judged again: what probes say later changes nothing of its answer', async () => {
  const { world } = await started();
  await using _ = world;
  world.link.behaviour = () =>
    answering({ stdout: 'no such page', ending: { kind: 'exited', exitCode: 75 } });
  const first = await world.call('trace_1', 'c1', 'look_up', { command: 'page' });
  world.backend.state = 'it is down';
  const other = world.gateway();
  const again = await world.call('trace_1', 'c1', 'look_up', { command: 'page' }, other.core);
  expect(again).toEqual({ ...first, replayed: true });
  expect(world.link.ran.filter((call) => call.startsWith('corral again'))).toHaveLength(1);
  await other.close();
});

test('an answer that went down with the sandbox that its policy broke is answered without its output', async () => {
  const { world, sandbox } = await started();
  await using _ = world;
  world.link.behaviour = () => answering({ stdout: 'out', ending: { kind: 'exited', exitCode: 3 } });
  await world.sh('trace_1', 'c1', 'echo');
  world.link.kill(sandbox);
  await world.state.lifecycle.lose(sandbox, null, 'out_of_memory', {});
  expect(await world.sh('trace_1', 'c1', 'echo')).toMatchObject({
    outcome: 'completed',
    exitCode: 3,
    output: '[this command has ended with exit code 3; its output is gone]',
    replayed: true,
  });
});

test('a repeat after another loss gets the code of the discard', async () => {
  const { world, sandbox } = await started();
  await using _ = world;
  await world.sh('trace_1', 'c1', 'echo');
  world.link.kill(sandbox);
  const again = world.sh('trace_1', 'c1', 'echo');
  await world.state.lifecycle.lose(sandbox, null, 'evicted', {});
  await expect(again).rejects.toMatchObject({ code: 'sandbox_lost' });
});

test('after a score, a repeat gets the answer as long as its sandbox is there', async () => {
  const { world } = await started();
  await using _ = world;
  const sandbox = await world.ready();
  await world.open('native', { item: { id: 'item-1', answer: 'yes' } });
  const native = { ...caller, face: 'native' } as const;
  const echo = () => world.call('native', 'c1', 'sh', { command: 'echo' }, world.wired.core, native);
  const first = await echo();
  const rollout = { rollout: rolloutId('native'), attempt: null };
  const sample = '{"output_text":"yes"}';
  const graded = world.wired.core.grade(native, { rollout, open: null, sample, waitMs: world.waitMs });
  expect(await graded).toMatchObject({ score: 1 });
  expect(await echo()).toEqual({ ...first, replayed: true });
  world.link.kill(sandbox);
  await world.state.lifecycle.lose(sandbox, null, 'evicted', {});
  await expect(echo()).rejects.toMatchObject({ code: 'answer_expired' });
});

test('an answer that ran nothing is worded again', async () => {
  const { world } = await started();
  await using _ = world;
  const wrong = () => world.call('trace_1', 'c1', 'sh', { wrong: true });
  const first = await wrong();
  expect(first).toMatchObject({ outcome: 'refused', code: 'bad_arguments' });
  expect(await wrong()).toEqual({ ...first, replayed: true });
  expect(await world.state.calls.lookup(key, callId('c1'))).toMatchObject({
    repeated: { kind: 'ran_nothing', text: first.output },
  });
});

test('a sandbox that asks which of its calls are settled hears of each settled one', async () => {
  const { world, sandbox } = await started();
  await using _ = world;
  await world.sh('trace_1', 'c1', 'echo');
  world.link.told.length = 0;
  const record = await world.state.claims.find(
    { ...caller, rollout: rolloutId('trace_1'), role: 'policy' },
    1,
  );
  if (record?.epoch == null || record.address === null) throw new Error('it has no sandbox');
  world.link.asks({ ...record.epoch, address: record.address, owner: key }, ['never', 'c1', 'no id']);
  await expect.poll(() => world.link.told).toEqual(['c1']);
  expect(record.epoch.sandbox).toBe(sandbox);
});
