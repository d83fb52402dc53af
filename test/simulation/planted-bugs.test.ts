import { afterAll, beforeAll, expect, test } from 'vitest';
import { plantedBugs } from './bugs/planted-bugs.ts';
import { RealScripts } from './fleet/real-scripts.ts';
import { simulate } from './simulate.ts';

/** Every bug must be found within so many seeds. */
const seeds = 200;
/** All of them take some ten seconds; a bug that is hard to find takes 200 worlds of a tenth of a second. */
const foundWithinMs = 120_000;

let scripts: RealScripts;

beforeAll(async () => {
  scripts = await RealScripts.start();
});

afterAll(async () => {
  await scripts.stop();
});

test.each(Object.entries(plantedBugs))(
  'planted: %s, and the simulator finds it',
  { timeout: foundWithinMs },
  async (name, planted) => {
    for (let seed = 1; seed <= seeds; seed += 1) {
      const { violation } = await simulate(scripts, { seed, planted });
      if (violation === null) continue;
      const clean = await simulate(scripts, { seed });
      expect(clean.violation, `seed ${seed} breaks without the bug, too`).toBeNull();
      console.log(`${name}: found by seed ${seed}: ${violation.invariant}: ${violation.detail}`);
      return;
    }
    expect.unreachable(`nothing found in ${seeds} seeds: the simulator is blind to this`);
  },
);
