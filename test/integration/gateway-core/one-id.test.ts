import { expect, test } from 'vitest';
import type { LinkTrouble } from '#src/ports/sandbox-link.ts';
import type { UserIsolation } from '#src/protocol/sandboxd/wire.ts';
import { fakeEnvironment } from '#test/fakes/environment.ts';
import { answering } from '#test/fakes/sandbox-link.ts';
import { CoreWorld } from '#test/support/core-world.ts';

const verifier = {
  kind: 'command',
  argv: ['verify'],
  files: {},
  timeoutMs: 1_000,
  onExit: 0,
  onTimeout: 0,
  onOutOfMemory: 0,
  onBroken: 0,
} as const;

/** A rollout whose first call has run, in a sandbox that said at its bind how its commands' ids are. */
async function begun(world: CoreWorld, isolation: UserIsolation): Promise<void> {
  world.link.isolation = isolation;
  await world.ready();
  await world.sh('trace_1', 'call_1', 'echo');
}

const refused = (status: number, code: string): LinkTrouble => ({
  kind: 'refused',
  status,
  code,
  message: code,
});

const lies = [
  refused(410, 'expired'),
  refused(409, 'not_bound'),
  refused(409, 'bound_elsewhere'),
  { kind: 'other_sandbox' },
] as const;

test.each(
  lies.flatMap((lie) => [[lie, 'single-user', 'command'] as const, [lie, 'two-user', null] as const]),
)(
  'a call that gets the answer %j, in a sandbox that is %s, discards its rollout with the mark %s',
  async (lie, isolation, suspected) => {
    await using world = await CoreWorld.start();
    await begun(world, isolation);
    world.link.failNext('call', lie);
    await expect(world.sh('trace_1', 'call_2', 'echo')).rejects.toMatchObject({ code: 'sandbox_lost' });
    expect(world.events.filter(({ kind }) => kind === 'verdict')).toMatchObject([{ suspected }]);
  },
);

test.each([
  ['single-user', 'grader_failed', 'command'],
  ['two-user', 'unclassified', null],
] as const)(
  'a grade without an end of its grader, in a sandbox that is %s, has the mark %s',
  async (isolation, code, suspected) => {
    await using world = await CoreWorld.start({ grader: verifier });
    await begun(world, isolation);
    world.link.behaviour = () => answering({});
    for (let turn = 1; turn <= 3; turn += 1)
      await expect(world.grade('trace_1', 'x')).rejects.toMatchObject({ code });
    expect(world.events.at(-1)).toMatchObject({
      kind: 'verdict',
      verdict: { code: 'grader_failed' },
      suspected,
    });
  },
);

const text = fakeEnvironment().grader;
const surcharge = { free: 0, per: 1_000, each: 0.1 };
const charging = { kind: 'penalty', grader: text, freeCalls: 40, each: 0, floor: 0 } as const;

test.each([
  ['time', { ...charging, time: surcharge }],
  ['output', { ...charging, bytes: surcharge }],
  ['time, in a part of a grader', { kind: 'gate', all: [text], grader: { ...charging, time: surcharge } }],
] as const)(
  'an environment that charges for %s runs nothing where commands could report it',
  async (_what, grader) => {
    await using world = await CoreWorld.start({ grader });
    world.link.isolation = 'single-user';
    await world.ready();
    await expect(world.sh('trace_1', 'call_1', 'echo')).rejects.toMatchObject({ code: 'setup_failed' });
    expect(world.link.ran).toEqual([]);
  },
);

test('one that charges for calls alone runs there, and one that charges for time runs where ids are apart', async () => {
  await using byCalls = await CoreWorld.start({ grader: { ...charging, each: 0.1 } });
  await begun(byCalls, 'single-user');
  await using byTime = await CoreWorld.start({ grader: { ...charging, time: surcharge } });
  await begun(byTime, 'two-user');
  expect([...byCalls.link.ran, ...byTime.link.ran]).toHaveLength(2);
});
