import { afterAll, beforeAll, expect, test } from 'vitest';
import { hunt } from './bugs/hunt.ts';
import { RealScripts } from './fleet/real-scripts.ts';
import { simulate } from './simulate.ts';
import { storyLines, verdictLines } from './tell.ts';

/** More for a night: `SIM_SEEDS=5000 npm test -- test/simulation`. */
const seeds = Number(process.env['SIM_SEEDS'] ?? 300);
/** One test a batch, so that a report says how far it came. */
const batch = 50;
/**
 * A tenth of a second each, and many times that on a busy machine. A batch that is given up goes on beside the next test,
 * and two worlds at a time disturb each other: so this ends only what would never end.
 */
const batchMs = 600_000;

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
  expect(storyLines(again).join('\n')).toBe(storyLines(alone).join('\n'));
});

/** Each was another story in each Redis while sets and hashes were walked in the order of that Redis' own secret. */
const toldApart = [26, 47, 62, 101];

test('a seed is the same story in another Redis, whose secrets are others', async () => {
  const other = await RealScripts.start();
  try {
    for (const seed of toldApart) {
      const [here, there] = [await simulate(scripts, { seed }), await simulate(other, { seed })];
      expect(storyLines(there).join('\n')).toBe(storyLines(here).join('\n'));
    }
  } finally {
    await other.stop();
  }
});

test('a broken promise is told with the command that shows it again, to the letter', async () => {
  const bug = 'a claim is not atomic';
  const caught = await hunt(scripts, bug);
  const broken = await simulate(scripts, { seed: caught?.seed ?? 0, bug });
  const again = await simulate(scripts, { seed: caught?.seed ?? 0, bug });
  expect(verdictLines(broken).join('\n')).toContain(`npm run sim -- --seed ${caught?.seed} --bug '${bug}'`);
  expect(storyLines(again)).toEqual(storyLines(broken));
});

test('another seed is another story', async () => {
  const [one, other] = [await simulate(scripts, { seed: 3 }), await simulate(scripts, { seed: 4 })];
  expect(one.traceHash).not.toBe(other.traceHash);
});
