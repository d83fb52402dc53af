import { expect, test } from 'vitest';
import { callId, rolloutId, sandboxId } from '#src/model/ids.ts';
import { caller, CoreWorld } from '#test/support/core-world.ts';
import { reserveOne } from '#test/support/reserve-one.ts';

const trainer = { ...caller, face: 'native' } as const;
const noFolder = 'no folder /srv/root';
let tickets = 0;

async function failStart(world: CoreWorld, reason: string | null = noFolder): Promise<boolean> {
  const sandbox = sandboxId(`failed-${(tickets += 1)}`);
  const target = { template: world.environment.template.digest, minReady: 0, max: 100 };
  const reserved = await reserveOne(world.state.pool, sandbox, [target], 100, 60_000);
  if (reserved !== null) await world.state.pool.launchFailed(sandbox, 'start_failed', noFolder, reason);
  return reserved !== null;
}

async function failStarts(world: CoreWorld, times: number): Promise<void> {
  for (let failed = 0; failed < times;) if (await failStart(world)) failed += 1;
}

const exec = (world: CoreWorld, rollout: string) =>
  world.wired.core.exec(trainer, {
    rollout: { rollout: rolloutId(rollout), attempt: null },
    call: callId('call_1'),
    argv: ['echo'],
    timeoutMs: null,
    waitMs: world.waitMs,
  });

const toldInVain = {
  code: 'start_failed',
  message: `3 sandboxes in a row failed to start, each for the same reason: ${noFolder}; fix that, then try again`,
  retry: 'no',
  blame: 'infrastructure',
  evidence: { ahead: 0, starts_failed: 3 },
};

test('a held request is answered once three sandboxes failed to start for the same reason', async () => {
  await using world = await CoreWorld.start();
  world.waitMs = 300_000;
  await world.open('r1');
  const asked = exec(world, 'r1').catch((thrown: unknown) => thrown);
  await failStarts(world, 3);
  expect(await asked).toMatchObject(toldInVain);
});

test('a rollout whose starts have failed since it was opened is answered at its first call', async () => {
  await using world = await CoreWorld.start();
  await world.open('r1');
  await failStarts(world, 3);
  await expect(exec(world, 'r1')).rejects.toMatchObject(toldInVain);
});

test('a rollout that comes later is tried for, and answered by what becomes of that', async () => {
  await using world = await CoreWorld.start();
  world.waitMs = 300_000;
  await world.open('early');
  await failStarts(world, 3);
  await world.open('late');
  const asked = exec(world, 'late').catch((thrown: unknown) => thrown);
  await failStarts(world, 1);
  expect(await asked).toMatchObject({ evidence: { starts_failed: 4 } });
  await world.open('after-the-fix');
  await world.wired.core.close(trainer, { rollout: rolloutId('early'), attempt: null }, 'finished', 0);
  await world.wired.core.close(trainer, { rollout: rolloutId('late'), attempt: null }, 'finished', 0);
  await world.ready();
  expect(await exec(world, 'after-the-fix')).toMatchObject({ outcome: 'completed' });
});

test('the RFT face holds the request for as long as ever, and a fixed template serves it', async () => {
  await using world = await CoreWorld.start();
  world.waitMs = 300_000;
  const asked = world.sh('trace_1', 'call_1', 'echo');
  await failStarts(world, 3);
  // Comes later than it, and is answered: so whatever makes requests look again has been.
  await world.open('r1');
  const native = exec(world, 'r1').catch((thrown: unknown) => thrown);
  await failStarts(world, 1);
  expect(await native).toMatchObject({ retry: 'no' });
  await world.open('r2');
  await world.ready();
  expect(await asked).toMatchObject({ output: 'echo' });
});
