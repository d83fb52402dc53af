import { afterAll, beforeAll, expect, test } from 'vitest';
import { batch, batchMs, expectBatch, expectHeldAgainst } from './expect-batch.ts';
import { RealScripts } from './fleet/real-scripts.ts';

/** More for a night: `SIM_SEEDS=5000 npm test -- test/simulation/many-worlds`. */
const seeds = Number(process.env['SIM_SEEDS'] ?? 300);

let scripts: RealScripts;

beforeAll(async () => {
  scripts = await RealScripts.start();
});

afterAll(async () => {
  await scripts.stop();
});

/** The first batch is played by `simulation.test.ts`. */
const batches = Math.max(1, Math.ceil(seeds / batch) - 1);
const firstSeeds = Array.from({ length: batches }, (_, index) => 1 + (index + 1) * batch);

/** Each rollout in which an actor acts is one try; every second world has separate users. */
const actedSeeds = seeds / 2;

test(
  'the policy fails its own sandbox: no discard without a mark, and hardly one with it',
  { timeout: batchMs },
  async () => {
    const tries = await expectHeldAgainst(scripts, 'adversary', actedSeeds);
    const apart = tries.filter(({ isolation }) => isolation === 'two-user');
    expect(apart.length).toBeGreaterThan(actedSeeds / 4);
    expect(apart.filter(({ end }) => end === 'marked').length).toBeLessThanOrEqual(apart.length / 100);
  },
);

test(
  'the machine fails sandboxes at the same steps: never a score that is not the truth',
  { timeout: batchMs },
  async () => {
    const tries = await expectHeldAgainst(scripts, 'honest_fault', actedSeeds);
    expect(tries.length).toBeGreaterThan(actedSeeds / 2);
  },
);

test.each(firstSeeds)('50 worlds from seed %i: every invariant holds', { timeout: batchMs }, (first) =>
  expectBatch(scripts, first, Math.min(first + batch - 1, seeds)),
);
