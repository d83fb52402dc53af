import { afterAll, beforeAll, expect, test } from 'vitest';
import { RealScripts } from './fleet/real-scripts.ts';
import { simulate } from './simulate.ts';
import { verdictLines } from './tell.ts';

/** More for a night: `SIM_SEEDS=5000 npm test -- test/simulation`. */
const seeds = Number(process.env['SIM_SEEDS'] ?? 300);
/** One test a batch, so that a report says how far it came. */
const batch = 50;
/** A tenth of a second each; a machine that runs everything else beside it takes several times as long. */
const batchMs = 60_000;

let scripts: RealScripts;

beforeAll(async () => {
  scripts = await RealScripts.start();
});

afterAll(async () => {
  await scripts.stop();
});

const firstSeeds = Array.from({ length: Math.ceil(seeds / batch) }, (_, index) => 1 + index * batch);

test.each(firstSeeds)(
  '50 worlds from seed %i: every invariant holds',
  { timeout: batchMs },
  async (first) => {
    for (let seed = first; seed < Math.min(first + batch, seeds + 1); seed += 1) {
      const report = await simulate(scripts, { seed });
      expect(report.violation, verdictLines(report).join('\n')).toBeNull();
    }
  },
);

test('the same seed does the same things at the same moments, whatever ran before it', async () => {
  const alone = await simulate(scripts, { seed: 3 });
  await simulate(scripts, { seed: 11 });
  const again = await simulate(scripts, { seed: 3 });
  expect(again.traceHash).toBe(alone.traceHash);
  expect(again.story).toEqual(alone.story);
});

test('another seed is another story', async () => {
  const [one, other] = [await simulate(scripts, { seed: 3 }), await simulate(scripts, { seed: 4 })];
  expect(one.traceHash).not.toBe(other.traceHash);
});
