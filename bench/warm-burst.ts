import { setTimeout as sleep } from 'node:timers/promises';
import { atMostInRounds, type Benchmark, type Figure, inTurns, type Round } from './figures.ts';
import { type BenchFleet, startBenchFleet } from './fleet.ts';
import { startStraight, type Straight } from './straight.ts';
import type { SandboxTarget } from '#src/ports/sandbox-link.ts';

const burst = 100;
const command = 'echo hi';
/** A sandbox rehearses when it has stood idle for ten seconds; a hundred of them take some four. */
const restMs = 16_000;

/**
 * A hundred first calls in one instant on a hundred warm sandboxes: claim, bind and run through the gateway, and bind and run
 * straight on a hundred others. No sandbox is used twice. All two hundred stand before either is measured, and those that
 * were used go after both: a pool that fills up again beside one of them would make that one slow.
 *
 * Two floors. `fresh`: sandboxes that have just been probed, with no pool in which they could stand; what the pool makes of
 * its time is the fleet's. `rehearsed`: the very same sandboxes, so that only what stands between is compared.
 */
export const warmBurst: Benchmark = {
  name: 'warm-burst',
  run: async (say) => {
    say('starting a fleet');
    await using bench = await startBenchFleet({ minReady: burst, max: burst });
    await using straight = await startStraight();
    // The first round is nobody's: connections open, code is compiled.
    await measureRound(bench, straight, 'fresh', 0);
    return [
      await compare(bench, straight, { floor: 'fresh', rounds: 5, most: 1.25 }, say),
      await compare(bench, straight, { floor: 'rehearsed', rounds: 3, most: 1.6 }, say),
    ];
  },
};

type Floor = 'fresh' | 'rehearsed';
type Compared = { readonly floor: Floor; readonly rounds: number; readonly most: number };

async function compare(
  bench: BenchFleet,
  straight: Straight,
  { floor, rounds, most }: Compared,
  say: (line: string) => void,
): Promise<Figure> {
  const measured: Round[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    say(
      `round ${round} of ${rounds}: warming ${burst} sandboxes, and ${burst} ${floor} ones without a fleet`,
    );
    const times = await measureRound(bench, straight, floor, round);
    const ratio = (times.value / times.floor).toFixed(2);
    say(`last answer after ${times.value.toFixed(0)} and ${times.floor.toFixed(0)} ms, ${ratio}`);
    measured.push(times);
  }
  const what = `last answer of ${burst} first calls at once, against ${floor} sandboxes, median of ${rounds}`;
  return atMostInRounds({ what, unit: 'ms', rounds: measured }, most);
}

async function measureRound(
  bench: BenchFleet,
  straight: Straight,
  floor: Floor,
  round: number,
): Promise<Round> {
  const rollouts = Array.from({ length: burst }, (_, index) => `${floor}-${round}-${index}`);
  await bench.warm(burst);
  const targets = await Promise.all(rollouts.map(() => straight.createOnly()));
  const probeAll = () => Promise.all(targets.map((target) => straight.probe(target)));
  if (floor === 'rehearsed') await probeAll();
  await sleep(restMs);
  const through = rollouts.map((rollout) => () => bench.call(rollout, 'call-1', command));
  const direct = targets.map((target) => () => bindAndRun(straight, target));
  const measureFloor = async () => {
    // From its probe on a sandbox stands idle: those that were not probed until now cannot have rehearsed.
    if (floor === 'fresh') await probeAll();
    return lastOf(direct);
  };
  const measured = await inTurns({ value: () => lastOf(through), floor: measureFloor }, round);
  await Promise.all(targets.map((target) => straight.destroy(target)));
  await Promise.all(rollouts.map((rollout) => bench.finish(rollout)));
  return measured;
}

async function bindAndRun(straight: Straight, target: SandboxTarget): Promise<void> {
  await straight.bind(target);
  await straight.exec(target, 'call-1', command);
}

/** Milliseconds until the last of them has its answer. */
async function lastOf(calls: readonly (() => Promise<unknown>)[]): Promise<number> {
  const start = performance.now();
  await Promise.all(calls.map((call) => call()));
  return performance.now() - start;
}
