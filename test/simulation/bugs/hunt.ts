import type { RealScripts } from '../fleet/real-scripts.ts';
import type { Violation } from '../invariants/inspector.ts';
import { simulate } from '../simulate.ts';
import type { PlantedBug } from './planted-bugs.ts';

/** Every planted bug must be found within so many seeds. */
export const huntSeeds = 200;

export type Catch = { readonly seed: number; readonly violation: Violation };

/** The first seed whose world shows the bug; null: none within {@link huntSeeds} does. */
export async function hunt(scripts: RealScripts, bug: PlantedBug): Promise<Catch | null> {
  for (let seed = 1; seed <= huntSeeds; seed += 1) {
    const { violation } = await simulate(scripts, { seed, bug });
    if (violation !== null) return { seed, violation };
  }
  return null;
}
