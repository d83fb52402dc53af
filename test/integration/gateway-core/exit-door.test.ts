import { expect, test } from 'vitest';
import { callId, rolloutId } from '#src/model/ids.ts';
import { answering } from '#test/fakes/sandbox-link.ts';
import { caller, CoreWorld } from '#test/support/core-world.ts';
import { RecoveryWorld } from '../recovery/world.ts';

/*
 * `look_up` may say by exit code 75 that its backend failed. Where the trainer ran commands or wrote files itself, those
 * may be the policy's, and a policy that can bring that exit code about could discard its bad rollouts with it.
 */

const failing = answering({ ending: { kind: 'exited', exitCode: 75 } });
const rollout = { rollout: rolloutId('a'), attempt: null };

function exec(world: CoreWorld, call: string) {
  return world.wired.core.exec(caller, {
    rollout,
    call: callId(call),
    argv: ['sh', '-c', 'echo'],
    timeoutMs: null,
    waitMs: world.waitMs,
  });
}

async function* bytes(text: string) {
  yield Buffer.from(text);
}

const putFile = (world: CoreWorld) =>
  world.wired.core.putFile(
    caller,
    rollout,
    { path: '/workspace/x', user: 'policy', form: 'file' },
    bytes('x'),
  );

const lookUp = (world: CoreWorld) => world.call('a', 'c1', 'look_up', { command: 'x' });

const ordinary = { outcome: 'completed', exitCode: 75, code: null };

test.each([
  ['a command', (world: CoreWorld) => exec(world, 'e1')],
  ['a file', putFile],
])(
  'after %s of the trainer’s own the exit code is the model’s, and the rollout is graded',
  async (_, act) => {
    await using world = await CoreWorld.start();
    await world.ready();
    await world.open('a');
    await act(world);
    world.link.behaviour = () => failing;
    expect(await lookUp(world)).toMatchObject(ordinary);
    expect(await world.grade('a', 'yes')).toMatchObject({ score: 1 });
  },
);

test('a command that the trainer runs while the tool runs counts too', async () => {
  await using world = await CoreWorld.start();
  await world.ready();
  await world.open('a');
  world.link.behaviour = async (request) => {
    if (request.label === 'look_up') await exec(world, 'e1');
    return failing;
  };
  expect(await lookUp(world)).toMatchObject(ordinary);
});

test('a file that was only read says nothing against the tool: its failure is ours', async () => {
  await using world = await CoreWorld.start();
  await world.ready();
  await world.open('a');
  world.link.behaviour = () => failing;
  await world.wired.core
    .getFile(caller, rollout, { path: '/workspace/x', user: 'policy', form: 'file', mostBytes: 1000 })
    .catch(() => undefined);
  await expect(lookUp(world)).rejects.toMatchObject({ code: 'dependency_failed' });
});

test('a sandbox that tells of the trainer’s own command after Redis forgot it is believed', async () => {
  await using world = await RecoveryWorld.start();
  await world.ready();
  await world.core.open('a');
  await exec(world.core, 'e1');
  await world.forgetAll();
  await world.recover();
  world.link.behaviour = () => failing;
  expect(await lookUp(world.core)).toMatchObject(ordinary);
});
