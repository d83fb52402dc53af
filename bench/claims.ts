import type { FleetState } from '#src/adapters/redis/fleet-state.ts';
import { atLeastInRounds, type Benchmark, inTurns, type Round } from './figures.ts';
import { endlessPool, playedClaim, startPlayed, withPlayedFleet } from './played-fleet.ts';

const burst = 500;
/** Each takes 30 ms, and the first few are slow on either side: nothing is compiled yet. */
const rounds = 21;

/** Five hundred claims in one instant against as many plain writes, both over one connection to the same Redis. */
export const claims: Benchmark = {
  name: 'claims',
  run: (say) =>
    withPlayedFleet(say, async ({ state, plain }) => {
      const measured: Round[] = [];
      for (let round = 0; round < rounds; round += 1) {
        await fillPool(state, round);
        const value = () => rate((index) => claim(state, `rollout-${round}-${index}`));
        const floor = () => rate((index) => plain.set(`plain-${round}-${index}`, 'x'.repeat(100)));
        measured.push(await inTurns({ value, floor }, round));
      }
      const what = `${burst} claims at once, a second, median of ${rounds}`;
      return [atLeastInRounds({ what, unit: '/s', rounds: measured }, 0.2)];
    }),
};

async function fillPool(state: FleetState, round: number): Promise<void> {
  for (let index = 0; index < burst; index += 1)
    await startPlayed(state, `sb-${round}-${index}`, endlessPool);
}

async function claim(state: FleetState, rollout: string): Promise<void> {
  const reply = await state.claims.claim(playedClaim(rollout));
  if (reply.kind !== 'held') throw new Error(`${rollout} got no sandbox: ${reply.kind}`);
}

async function rate(work: (index: number) => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await Promise.all(Array.from({ length: burst }, (_, index) => work(index)));
  return (burst * 1_000) / (performance.now() - start);
}
