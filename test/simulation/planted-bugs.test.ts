import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { huntAgain, huntSeeds } from './bugs/hunt.ts';
import { type PlantedBug, plantedBugNames, plantedBugs } from './bugs/planted-bugs.ts';
import { RealScripts } from './fleet/real-scripts.ts';
import { simulate } from './simulate.ts';

/**
 * Where each was found before takes a world of a tenth of a second, and the hunt for one that has moved up to 200, many times
 * as long on a busy machine. A hunt that is given up would go on beside the next one.
 */
const foundWithinMs = 600_000;
const page = join(import.meta.dirname, 'README.md');

let scripts: RealScripts;
/** What test/simulation/README.md says of each bug: the number of seeds within which it is found. */
let documented: ReadonlyMap<string, number>;
const caught = new Map<PlantedBug, string>();

beforeAll(async () => {
  scripts = await RealScripts.start();
  const rows = (await readFile(page, 'utf8')).matchAll(/^\| (?<bug>[^|]+) \| (?<seeds>\d+) \|$/gmu);
  documented = new Map(
    [...rows].map(({ groups }) => [groups?.['bug']?.trim() ?? '', Number(groups?.['seeds'])]),
  );
});

afterAll(async () => {
  await scripts.stop();
  console.log(['planted bugs and the seed that found each:', ...caught.values()].join('\n  '));
});

test('test/simulation/README.md names the planted bugs, and no other', () => {
  expect([...documented.keys()]).toEqual(plantedBugNames);
  for (const seeds of documented.values()) expect(seeds).toBeLessThanOrEqual(huntSeeds);
});

test.each(plantedBugNames)(
  'planted: %s, and the simulator finds it as soon as test/simulation/README.md says',
  { timeout: foundWithinMs },
  async (bug) => {
    const found = await huntAgain(scripts, bug);
    if (found === null)
      return expect.unreachable(`nothing found in ${huntSeeds} seeds: the simulator is blind`);
    const { seed, violation } = found;
    caught.set(bug, `seed ${String(seed).padStart(3)}  ${bug}  (${violation.invariant})`);
    const { actor, environments } = plantedBugs[bug];
    const of = { ...(actor && { actor }), ...(environments && { environments }) };
    const clean = await simulate(scripts, { seed, ...of });
    expect(clean.violation, `seed ${seed} breaks without the bug, too`).toBeNull();
    expect(seed, `test/simulation/README.md says within ${documented.get(bug)} seeds`).toBeLessThanOrEqual(
      documented.get(bug) ?? 0,
    );
  },
);
