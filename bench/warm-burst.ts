import { atMostInRounds, type Benchmark, inTurns, type Round } from './figures.ts';
import { type BenchFleet, startBenchFleet } from './fleet.ts';
import { startStraight, type Straight } from './straight.ts';
import type { SandboxTarget } from '#src/ports/sandbox-link.ts';

const burst = 100;
const rounds = 5;
const command = 'echo hi';

/**
 * A hundred first calls in one instant on a hundred fresh warm sandboxes: claim, bind and run through the gateway, and
 * bind and run straight on a hundred others. No sandbox is used twice. All two hundred stand before either is measured, and
 * those that were used go after both: a pool that fills up again beside one of them would make that one slow.
 */
export const warmBurst: Benchmark = {
  name: 'warm-burst',
  run: async (say) => {
    say('starting a fleet');
    await using bench = await startBenchFleet({ minReady: burst, max: burst });
    await using straight = await startStraight();
    const measured: Round[] = [];
    // The first round is nobody's: connections open, code is compiled.
    for (let round = 0; round <= rounds; round += 1) {
      say(`round ${round} of ${rounds}: warming ${burst} sandboxes, twice`);
      const { value, floor } = await measureRound(bench, straight, round);
      say(`last answer after ${value.toFixed(0)} and ${floor.toFixed(0)} ms, ${(value / floor).toFixed(2)}`);
      if (round > 0) measured.push({ value, floor });
    }
    const what = `last answer of ${burst} first calls at once, median of ${rounds}`;
    return [atMostInRounds({ what, unit: 'ms', rounds: measured }, 1.25)];
  },
};

async function measureRound(bench: BenchFleet, straight: Straight, round: number): Promise<Round> {
  await bench.warm(burst);
  const targets = await straight.create(burst);
  const rollouts = Array.from({ length: burst }, (_, index) => `round-${round}-${index}`);
  const through = rollouts.map((rollout) => () => bench.call(rollout, 'call-1', command));
  const direct = targets.map((target) => () => bindAndRun(straight, target));
  const measured = await inTurns({ value: () => lastOf(through), floor: () => lastOf(direct) }, round);
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
