import type { World } from '../world.ts';
import { acted } from './acted.ts';
import { answersKept } from './answers-kept.ts';
import { attributed } from './attributed.ts';
import { boundOnce } from './bound-once.ts';
import { ranOnce } from './ran-once.ts';
import { notScored } from './not-scored.ts';
import { stateOnlyMovesOn } from './moves-on.ts';
import { movesAreTold } from './moves-are-told.ts';
import { bookkept, startsHaveJobs } from './bookkept.ts';
import { oneVerdict } from './one-verdict.ts';
import { dependencies } from './dependencies.ts';
import { ended } from './ended.ts';
import { heardOut } from './heard-out.ts';
import { toldInVain } from './told-in-vain.ts';
import { toldTheWhole } from './told-the-whole.ts';
import { turnsAreRun } from './turns-are-run.ts';
import { setUpFirst } from './set-up-first.ts';

export type Violation = { readonly invariant: string; readonly detail: string };

/** What must hold at every moment. Looks at the world when something has changed; null: everything holds. */
export type Invariant = (world: World) => string | null;

export type Inspector = {
  /** What is looked at, in words. */
  readonly invariants: readonly string[];
  /** The first promise that is broken now; null: none is. */
  readonly inspect: () => Violation | null;
};

/** Some promises are about time, and are broken by nothing happening. */
const lookAnywaySteps = 20;

export function createInspector(world: World): Inspector {
  const invariants: Readonly<Record<string, Invariant>> = {
    ...boundOnce,
    ...ranOnce,
    ...answersKept,
    ...attributed,
    ...dependencies,
    ...notScored,
    ...acted,
    ...bookkept,
    ...startsHaveJobs(),
    ...oneVerdict,
    ...ended,
    ...heardOut,
    ...turnsAreRun,
    ...setUpFirst,
    ...toldTheWhole,
    ...toldInVain,
    ...stateOnlyMovesOn(),
    ...movesAreTold(),
  };
  const checks = Object.entries(invariants);
  let seen = '';
  let state = world.redis.scripts.state;
  const inspect = () => {
    const now = `${world.truth.changes} ${world.ledger.changes}`;
    const idle = now === seen && world.redis.scripts.state === state;
    if (idle && world.scheduler.steps % lookAnywaySteps !== 0) return null;
    seen = now;
    state = world.redis.scripts.state;
    for (const { sandbox, phase } of state.sandboxes.values())
      if (phase === 'unsure') world.redis.unsure.add(sandbox);
    for (const [invariant, check] of checks) {
      const detail = check(world);
      if (detail !== null) return { invariant, detail };
    }
    return null;
  };
  return { invariants: Object.keys(invariants), inspect };
}
