import { expect, test, vi } from 'vitest';
import { rolloutId, type SandboxId } from '#src/model/ids.ts';
import { answering } from '#test/fakes/sandbox-link.ts';
import { caller, CoreWorld } from '#test/support/core-world.ts';

const wrongKey = { kind: 'refused', status: 401, code: 'unauthorized', message: 'not our token' } as const;
const wrongWords = { kind: 'refused', status: 400, code: 'invalid_request', message: 'expiresInMs' } as const;
const failing = { commands: [['false']], timeoutMs: 1_000 };

const phases = async (world: CoreWorld) => {
  const known = await world.state.pool.known();
  return [...known.values()].map(({ phase }) => phase);
};

/** A second rollout or try may be served meanwhile, so what counts is that none of them is on its way out. */
async function draining(world: CoreWorld): Promise<number> {
  return (await phases(world)).filter((phase) => phase === 'draining').length;
}

test.each([
  ['another fleet key', wrongKey],
  ['words that it does not understand', wrongWords],
])(
  'sandboxes that refuse this gateway for %s are kept, and the rollout goes on where it can',
  async (_why, trouble) => {
    await using world = await CoreWorld.start();
    const sandboxes: SandboxId[] = [];
    for (let count = 0; count < 8; count += 1) sandboxes.push(await world.ready());
    for (let count = 0; count < 4; count += 1) world.link.failNext('bind', trouble);
    expect(await world.sh('trace_1', 'call_1', 'echo')).toMatchObject({ output: 'echo' });
    expect(world.link.binds).toEqual(sandboxes.slice(0, 1));
    expect(await draining(world)).toBe(0);
  },
);

test('a call that a sandbox refuses for the gateway’s key is told as nothing of the rollout’s: it goes on later', async () => {
  await using world = await CoreWorld.start();
  await world.ready();
  await world.sh('trace_1', 'call_1', 'echo');
  world.link.failNext('call', wrongKey);
  expect(await world.sh('trace_1', 'call_2', 'echo')).toMatchObject({ output: 'echo' });
});

test('a template whose sandboxes all fail its setup loses no more than 60 in a minute, however many ask', async () => {
  await using world = await CoreWorld.start({ setup: failing });
  for (let count = 0; count < 100; count += 1) await world.ready();
  world.link.behaviour = () => answering({ ending: { kind: 'signalled', signal: 'SIGKILL' } });
  const asked = Array.from({ length: 20 }, (_, index) =>
    world.sh(`trace_${index}`, 'call_1', 'echo').catch((thrown: unknown) => thrown),
  );
  for (const told of await Promise.all(asked)) expect(told).toMatchObject({ code: 'setup_failed' });
  await vi.waitUntil(async () => (await draining(world)) > 0);
  expect(await draining(world)).toBe(60);
});

test.each([
  ['ends with an exit code', 'native', { kind: 'exited', exitCode: 1 }, 3, 'no'],
  ['ends with an exit code', 'rft', { kind: 'exited', exitCode: 1 }, 5, 'yes'],
  ['is killed', 'native', { kind: 'signalled', signal: 'SIGKILL' }, 5, 'yes'],
] as const)(
  'a setup that %s in each sandbox: the %s face is told so',
  async (_how, face, ending, sandboxes, retry) => {
    await using world = await CoreWorld.start({ setup: failing });
    for (let count = 0; count < 6; count += 1) await world.ready();
    world.link.behaviour = () => answering({ ending });
    const asked = world.call('trace_1', 'call_1', 'sh', { command: 'echo' }, world.wired.core, {
      ...caller,
      face,
    });
    const message = retry === 'no' ? /^setup failed in 3 sandboxes in a row: setup step 1/ : /^setup step 1/;
    await expect(asked).rejects.toMatchObject({
      code: 'setup_failed',
      retry,
      message: expect.stringMatching(message) as unknown,
    });
    expect(world.link.binds).toHaveLength(sandboxes);
  },
);

test('a setup that succeeds while a package mirror fails has failed, and another sandbox is tried', async () => {
  await using world = await CoreWorld.start({ setup: failing });
  for (let count = 0; count < 2; count += 1) await world.ready();
  const failed = { asked: 1, failed: 1, confirmed: 1, refused: 0, lost: 0, doubt: null };
  const answers = [answering({ mirrors: failed })];
  world.link.behaviour = () => answers.shift() ?? answering({});
  await world.sh('trace_1', 'call_1', 'echo');
  expect(world.link.binds).toHaveLength(2);
});

const otherLife = { kind: 'other_boot', boot: 'boot-x' } as const;

const verifier = {
  kind: 'command',
  argv: ['verify'],
  files: {},
  timeoutMs: 1_000,
  onExit: 0,
  onTimeout: 'discard',
  onOutOfMemory: 'discard',
  onBroken: 'discard',
} as const;

async function* bytes() {
  yield Buffer.from('x');
}

const rollout = { rollout: rolloutId('trace_1'), attempt: null };

test.each<[string, (world: CoreWorld) => Promise<unknown>]>([
  ['a tool call', (world) => world.sh('trace_1', 'call_1', 'echo')],
  ['a grade', (world) => world.grade('trace_1', 'yes')],
  [
    'a file',
    async (world) => {
      await world.open('trace_1');
      return world.wired.core.putFile(
        caller,
        rollout,
        { path: '/workspace/x', user: 'policy', form: 'file' },
        bytes(),
      );
    },
  ],
])(
  '%s whose sandboxes will not do gives up five of the pool and is told so; asked for again, it has five of its own',
  async (_what, ask) => {
    await using world = await CoreWorld.start({ grader: verifier });
    const score = { kind: 'ran', score: '1' } as const;
    world.link.behaviour = () => answering({ grade: score });
    for (let count = 0; count < 12; count += 1) await world.ready();
    for (let count = 0; count < 8; count += 1) world.link.failNext('bind', otherLife);
    await expect(ask(world)).rejects.toMatchObject({ code: 'sandboxd_unreachable', admitted: 'no' });
    expect(await draining(world)).toBe(5);
    await ask(world);
    expect(world.link.binds).toHaveLength(1);
    expect(await draining(world)).toBeGreaterThanOrEqual(8);
  },
);

test('a rollout whose sandbox another gateway swaps again and again before the call is admitted begins from the top, and runs once', async () => {
  await using world = await CoreWorld.start();
  await world.ready();
  const admit = vi.spyOn(world.state.calls, 'admit');
  for (let count = 0; count < 5; count += 1)
    admit.mockResolvedValueOnce({ kind: 'not_active', rollout: null });
  const { core, close } = world.gateway();
  expect(await world.sh('trace_1', 'call_1', 'echo', core)).toMatchObject({ output: 'echo' });
  expect(admit).toHaveBeenCalledTimes(6);
  expect(world.link.ran).toEqual(['call_1']);
  await close();
});
