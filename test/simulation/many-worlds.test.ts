import { afterAll, beforeAll, test } from 'vitest';
import { batch, batchMs, expectBatch } from './expect-batch.ts';
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

test.each(firstSeeds)('50 worlds from seed %i: every invariant holds', { timeout: batchMs }, (first) =>
  expectBatch(scripts, first, Math.min(first + batch - 1, seeds)),
);
