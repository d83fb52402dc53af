import { parseArgs } from 'node:util';
import { actors, steps } from './actors/actor.ts';
import { hunt, writeFound } from './bugs/hunt.ts';
import { type PlantedBug, plantedBugNames } from './bugs/planted-bugs.ts';
import { RealScripts } from './fleet/real-scripts.ts';
import type { TryEnd } from './invariants/acted.ts';
import { type Report, simulate, type SimulationOptions } from './simulate.ts';
import type { Ending } from './trainer/ledger.ts';
import { storyLines, verdictLines } from './tell.ts';

/**
 * `npm run sim -- --seed N [--steps M] [--rollouts R] [--bug NAME]` tells one seed's story; `--seeds COUNT` runs so many
 * from there on and tells of those that break; `--actor adversary` or `honest_fault` plays worlds in which only the policies or the
 * machines fail sandboxes, and counts what came of it, with `--together STEP` all rollouts of a world alike; `--planted` looks for every planted bug, and
 * writes down by which seed each is found, where the tests look first.
 */
const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    steps: { type: 'string' },
    rollouts: { type: 'string' },
    seeds: { type: 'string', default: '1' },
    bug: { type: 'string' },
    actor: { type: 'string' },
    together: { type: 'string' },
    planted: { type: 'boolean', default: false },
  },
});

const scripts = await RealScripts.start();
try {
  const held = values.planted ? await huntAll() : await run(Number(values.seed), Number(values.seeds));
  process.exitCode = held ? 0 : 1;
} finally {
  await scripts.stop();
}

async function run(first: number, count: number): Promise<boolean> {
  const given = options();
  const beganMs = performance.now();
  const endings: Record<Ending['kind'] | 'not_ended', number> = {
    scored: 0,
    discarded: 0,
    given_up: 0,
    not_ended: 0,
  };
  const tries: Report['tries'][number][] = [];
  let rollouts = 0;
  let broken = 0;
  for (let seed = first; seed < first + count; seed += 1) {
    const report = await simulate(scripts, { seed, ...given });
    rollouts += report.planned.length;
    for (const { kind } of report.endings.values()) endings[kind] += 1;
    endings.not_ended += report.planned.length - report.endings.size;
    tries.push(...report.tries);
    if (report.violation !== null) broken += 1;
    const lines = count === 1 ? storyLines(report) : report.violation === null ? [] : verdictLines(report);
    for (const line of lines) console.log(line);
  }
  if (count === 1) return broken === 0;
  const ended = Object.entries(endings).map(([kind, times]) => `${times} ${kind.replace('_', ' ')}`);
  console.log(`${count} seeds, ${rollouts} rollouts (${ended.join(', ')}), ${broken} broken`);
  for (const line of tryLines(tries)) console.log(line);
  if (broken === 0) console.log(`at 95 % confidence fewer than ${boundWords(rollouts)} breaks a promise`);
  console.log(await costWords(performance.now() - beganMs));
  return broken === 0;
}

/** How tries of an actor ended, by who has which id in the sandbox, and by step. */
function tryLines(tries: Report['tries']): readonly string[] {
  const counts = new Map<string, Record<TryEnd, number>>();
  for (const { step, isolation, end } of tries) {
    for (const name of [isolation, `${isolation}, ${step}`]) {
      const ends = counts.get(name) ?? { scored: 0, marked: 0, unmarked: 0, open: 0 };
      counts.set(name, { ...ends, [end]: ends[end] + 1 });
    }
  }
  const sorted = [...counts].toSorted(([one], [other]) => (one < other ? -1 : 1));
  return sorted.map(([name, ends]) => {
    const all = Object.values(ends).reduce((sum, count) => sum + count, 0);
    return `  ${name}: ${all} tries, ${Object.entries(ends)
      .map(([end, count]) => `${count} ${end}`)
      .join(', ')}`;
  });
}

/** The rule of three: what was not seen in n independent tries is rarer than 3/n, at 95 % confidence. */
function boundWords(rollouts: number): string {
  return `1 rollout in ${Math.floor(rollouts / 3)}`;
}

/** Time of this process' processor and of its Redis, which does half of the work. */
async function costWords(wallMs: number): Promise<string> {
  const { user, system } = process.cpuUsage();
  const cpuMs = (user + system) / 1000 + (await scripts.cpuMs());
  return `${(wallMs / 1000).toFixed(1)} s, ${(cpuMs / 1000).toFixed(1)} s of processor time`;
}

async function huntAll(): Promise<boolean> {
  const found = new Map<PlantedBug, number>();
  for (const bug of plantedBugNames) {
    const caught = await hunt(scripts, bug);
    if (caught !== null) found.set(bug, caught.seed);
    console.log(
      caught === null ? `NOT FOUND: ${bug}` : `seed ${caught.seed}: ${bug}: ${caught.violation.invariant}`,
    );
  }
  writeFound(found);
  const missed = plantedBugNames.length - found.size;
  console.log(`${plantedBugNames.length} planted bugs, ${missed} not found`);
  return missed === 0;
}

function options(): Omit<SimulationOptions, 'seed'> {
  const { rollouts, bug, actor, together } = values;
  return {
    ...(values.steps === undefined ? {} : { steps: Number(values.steps) }),
    ...(rollouts === undefined ? {} : { rollouts: Number(rollouts) }),
    ...(bug === undefined ? {} : { bug: known('planted bug', plantedBugNames, bug) }),
    ...(actor === undefined ? {} : { actor: known('actor', actors, actor) }),
    ...(together === undefined ? {} : { together: known('step', steps, together) }),
  };
}

/** `name` as one of `names`; `what` they are, for a person. */
function known<Name extends string>(what: string, names: readonly Name[], name: string): Name {
  const found = names.find((one) => one === name);
  if (found !== undefined) return found;
  throw new Error(`no ${what} "${name}"; there are:\n  ${names.join('\n  ')}`);
}
