import { afterAll, beforeAll, expect, test } from 'vitest';
import { hunt } from './bugs/hunt.ts';
import { RealScripts } from './fleet/real-scripts.ts';
import { simulate } from './simulate.ts';
import { actors } from './actors/actor.ts';
import { batchMs, expectBatch, expectHeldAgainst } from './expect-batch.ts';
import { environmentsOfChanges, environmentsOfGuards } from './trainer/plan.ts';
import { storyLines, verdictLines } from './tell.ts';

let scripts: RealScripts;

beforeAll(async () => {
  scripts = await RealScripts.start();
});

afterAll(async () => {
  await scripts.stop();
});

test('50 worlds from seed 1: every invariant holds', { timeout: batchMs }, () => expectBatch(scripts, 1));

test.each(actors)(
  '20 worlds with the actor %s: every invariant holds',
  { timeout: batchMs },
  async (actor) => {
    expect((await expectHeldAgainst(scripts, actor, 20)).length).toBeGreaterThan(0);
  },
);

test(
  '20 worlds of graders that get what the policy changed: every invariant holds',
  { timeout: batchMs },
  () => expectBatch(scripts, 1, 20, { environments: environmentsOfChanges }),
);

test(
  '10 worlds of a guarded judge, and 10 whose policies play it: every invariant holds, and some judge is suspect',
  { timeout: batchMs },
  async () => {
    const environments = environmentsOfGuards;
    const codes = new Set<string>();
    for (let seed = 1; seed <= 10; seed += 1) {
      const { violation, endings } = await simulate(scripts, { seed, environments });
      expect(violation, `seed ${seed}`).toBeNull();
      for (const ending of endings.values()) codes.add(JSON.stringify(ending));
    }
    expect([...codes].join(' ')).toContain('judge_suspect');
    await expectBatch(scripts, 1, 10, { environments, actor: 'adversary' });
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
