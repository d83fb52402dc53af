import { atMost, median } from './figures.ts';
import type { Benchmark } from './figures.ts';
import { startBenchFleet } from './fleet.ts';
import type { BenchFleet } from './fleet.ts';
import { startStraight } from './straight.ts';
import type { Straight } from './straight.ts';

const burst = 100;
const rounds = 5;
const command = 'echo hi';

/**
 * A hundred first calls in one instant on a hundred fresh warm sandboxes: claim, bind and run through the gateway, and
 * bind and run straight on a hundred others. No sandbox is used twice, and the pool does not refill meanwhile.
 */
export const warmBurst: Benchmark = {
  name: 'warm-burst',
  run: async (say) => {
    say('starting a fleet');
    await using bench = await startBenchFleet({ minReady: burst, max: burst });
    await using straight = await startStraight();
    const last = { through: [] as number[], direct: [] as number[] };
    for (let round = 1; round <= rounds; round += 1) {
      say(`round ${round} of ${rounds}: warming ${burst} sandboxes, twice`);
      last.through.push(await throughGateway(bench, round));
      last.direct.push(await straightOn(straight));
    }
    const what = `last answer of ${burst} first calls at once, median of ${rounds}`;
    return [atMost({ what, unit: 'ms', value: median(last.through), floor: median(last.direct) }, 1.5)];
  },
};

async function throughGateway(bench: BenchFleet, round: number): Promise<number> {
  await bench.warm(burst);
  const rollouts = Array.from({ length: burst }, (_, index) => `round-${round}-${index}`);
  const start = performance.now();
  await Promise.all(rollouts.map((rollout) => bench.call(rollout, 'call-1', command)));
  const elapsedMs = performance.now() - start;
  await Promise.all(rollouts.map((rollout) => bench.finish(rollout)));
  return elapsedMs;
}

async function straightOn(straight: Straight): Promise<number> {
  const targets = await straight.create(burst);
  const start = performance.now();
  await Promise.all(
    targets.map(async (target) => {
      await straight.bind(target);
      await straight.exec(target, 'call-1', command);
    }),
  );
  const elapsedMs = performance.now() - start;
  await Promise.all(targets.map((target) => straight.destroy(target)));
  return elapsedMs;
}
