import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RealScripts } from '../fleet/real-scripts.ts';
import type { Violation } from '../invariants/inspector.ts';
import { simulate } from '../simulate.ts';
import type { PlantedBug } from './planted-bugs.ts';

/** Every planted bug must be found within so many seeds. */
export const huntSeeds = 250;

export type Catch = { readonly seed: number; readonly violation: Violation };

/** The first seed whose world shows the bug; null: none within {@link huntSeeds} does. */
export async function hunt(scripts: RealScripts, bug: PlantedBug): Promise<Catch | null> {
  for (let seed = 1; seed <= huntSeeds; seed += 1) {
    const found = await look(scripts, bug, seed);
    if (found !== null) return found;
  }
  return null;
}

/** The same as `hunt`, but looks first where the bug was found before: a world instead of up to two hundred. */
export async function huntAgain(scripts: RealScripts, bug: PlantedBug): Promise<Catch | null> {
  const seed = foundBefore()[bug];
  const found = seed === undefined ? null : await look(scripts, bug, seed);
  return found ?? hunt(scripts, bug);
}

async function look(scripts: RealScripts, bug: PlantedBug, seed: number): Promise<Catch | null> {
  const { violation } = await simulate(scripts, { seed, bug });
  return violation === null ? null : { seed, violation };
}

/** Any change of what the worlds play may move these; then `npm run sim -- --planted` writes them again. */
const file = join(import.meta.dirname, 'found-by-seed.json');

function foundBefore(): Readonly<Partial<Record<PlantedBug, number>>> {
  return JSON.parse(readFileSync(file, 'utf8')) as Partial<Record<PlantedBug, number>>;
}

export function writeFound(found: ReadonlyMap<PlantedBug, number>): void {
  writeFileSync(file, `${JSON.stringify(Object.fromEntries(found), null, 2)}\n`);
}
