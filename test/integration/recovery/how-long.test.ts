import { expect, test } from 'vitest';
import { RecoveryWorld } from './world.ts';

const fleet = 64;
/** The promise is five seconds on a machine of its own; this one runs other tests beside it. */
const generousMs = 20_000;

test('64 sandboxes, half of them with rollouts: claims are granted again within seconds of the new Redis', async () => {
  await using world = await RecoveryWorld.start();
  for (let made = 0; made < fleet; made += 1) await world.ready();
  const rollouts = Array.from({ length: fleet / 2 }, (_, number) => `trace_${number}`);
  await Promise.all(rollouts.map((trace) => world.core.sh(trace, 'c1', 'echo')));

  const floorStartMs = performance.now();
  await Promise.all(rollouts.concat(rollouts).map(() => world.counts()));
  const floorMs = performance.now() - floorStartMs;

  await world.forgetAll();
  const held = world.core.sh('trace_new', 'c1', 'echo');
  const startMs = performance.now();
  expect(await world.recover()).toEqual({ live: fleet / 2, ready: fleet / 2 });
  const recoverMs = performance.now() - startMs;
  expect(await held).toMatchObject({ output: 'echo' });
  const firstGrantMs = performance.now() - startMs;
  expect(firstGrantMs).toBeLessThan(generousMs);
  console.info(
    `recovery of ${fleet} sandboxes: ${recoverMs.toFixed(0)} ms, first grant after ${firstGrantMs.toFixed(0)} ms,` +
      ` ${(recoverMs / floorMs).toFixed(1)} times as long as ${fleet} plain scripts at once`,
  );
});
