import { type PlantedBug, plantedBugs } from './bugs/planted-bugs.ts';
import type { Actor, Step } from './actors/actor.ts';
import { planDisasters } from './disasters.ts';
import { withTimersOf } from './engine/world-timers.ts';
import { Narrator } from './fleet/narrator.ts';
import type { RealScripts } from './fleet/real-scripts.ts';
import { triesOf } from './invariants/acted.ts';
import { createInspector, type Inspector, type Violation } from './invariants/inspector.ts';
import { restless } from './invariants/rest.ts';
import type { Ending } from './trainer/ledger.ts';
import type { PlannedRollout } from './trainer/plan.ts';
import { type Planted, World } from './world.ts';

export type SimulationOptions = {
  readonly seed: number;
  /** Faults strike during this many steps. */
  readonly steps?: number;
  readonly rollouts?: number;
  readonly actor?: Actor;
  /** The step at which the actor does the same to all rollouts; default: to each its own, at any step. */
  readonly together?: Step;
  /** Whose rollouts are played; default: the usual ones. */
  readonly environments?: readonly string[];
  /** A mistake that is planted into this world. */
  readonly bug?: PlantedBug;
};

export type Report = {
  readonly options: SimulationOptions;
  readonly steps: number;
  readonly simulatedMs: number;
  readonly planned: readonly PlannedRollout[];
  readonly endings: ReadonlyMap<string, Ending>;
  readonly invariants: readonly string[];
  readonly faults: ReadonlyMap<string, number>;
  /** What an actor did to each rollout, and what came of it. */
  readonly tries: ReturnType<typeof triesOf>;
  readonly traceHash: string;
  readonly story: readonly string[];
  /** Null: everything held. */
  readonly violation: Violation | null;
};

/** A seed has at most so many rollouts: few enough to be read, enough for every race between two or three. */
const mostRollouts = 8;
const defaultSteps = 2_500;
/** A world without faults comes to rest within this: hard life, a breaker's probes and a lost ticket together. */
const restWithinMs = 400_000;
/** Far beyond what any world needs: one that is still busy then runs in a circle. */
const mostSteps = (rollouts: number) => 30_000 * Math.max(1, rollouts / mostRollouts);
/** Looked at so often whether everything has come to rest. */
const lookEverySteps = 50;

/** Runs one world to its end, or to the first broken promise. */
export async function simulate(scripts: RealScripts, options: SimulationOptions): Promise<Report> {
  const { seed, steps = defaultSteps, bug } = options;
  const planted: Planted = bug === undefined ? {} : plantedBugs[bug];
  const rollouts = options.rollouts ?? 1 + (seed % mostRollouts);
  const { actor = planted.actor ?? null, together = null } = options;
  const { environments = planted.environments ?? null } = options;
  const world = new World({ seed, actor, together, rollouts, environments, scripts, planted });
  const inspector = createInspector(world);
  const violation = await withTimersOf(world.scheduler, () => runWorld(world, inspector, steps));
  // Nothing of this world may go on in the next.
  for (const { process } of world.gateways) process.kill();
  for (const process of world.controllers) process.kill();
  return reportOf(world, options, inspector, violation);
}

async function runWorld(world: World, inspector: Inspector, steps: number): Promise<Violation | null> {
  const narrator = new Narrator(world.story, world.redis.scripts.state);
  await world.begin();
  planDisasters(world);
  let restBeginsMs = 0;
  for (let step = 1; ; step += 1) {
    if (!(await world.scheduler.step()) || step > mostSteps(world.planned.length))
      return { invariant: 'comes to rest', detail: stuck(world, step) };
    narrator.look(world.redis.scripts.state);
    const violation = inspector.inspect();
    if (violation !== null) return violation;
    if (!world.faults.over && (step >= steps || world.allEnded)) {
      world.faults.end();
      restBeginsMs = world.scheduler.nowMs;
    }
    if (!world.faults.over || step % lookEverySteps !== 0) continue;
    const unrest = restless(world);
    if (unrest === null) return null;
    if (world.scheduler.nowMs - restBeginsMs > restWithinMs)
      return { invariant: 'comes to rest', detail: unrest };
  }
}

function stuck(world: World, step: number): string {
  return `after ${step} steps nothing or everything goes on: ${restless(world) ?? 'at rest'}`;
}

function reportOf(
  world: World,
  options: SimulationOptions,
  { invariants }: Inspector,
  violation: Violation | null,
): Report {
  return {
    options,
    invariants,
    steps: world.scheduler.steps,
    simulatedMs: world.scheduler.nowMs,
    planned: world.planned,
    endings: world.ledger.endings,
    faults: world.faults.struck,
    tries: triesOf(world),
    traceHash: world.scheduler.traceHash,
    story: world.story.lines,
    violation,
  };
}
