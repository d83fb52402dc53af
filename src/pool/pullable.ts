import type { EnvironmentVersion } from '../model/ids.ts';
import type { PoolTarget, TemplateCounts } from '../ports/fleet/pool.ts';

/** What a template wants beyond the launches that are out. */
export type Wanted = {
  readonly counts: TemplateCounts;
  readonly target: PoolTarget;
  readonly launches: number;
};

/** As `lib/pulls.lua` has them, with the reasons. The script decides; here they keep tickets from being offered in vain. */
const shares = { first: 1 / 4, later: 1 / 2, unproven: 1 / 2 } as const;

/** How many of the wanted launches the start slots have room for, where rows name the images. Others all count. */
export function pullable(wanted: readonly Wanted[], startBudget: number): number {
  const own = wanted.filter(({ target }) => target.chosenFor === undefined);
  const ofRows = wanted.filter(({ target }) => target.chosenFor !== undefined);
  const proven = ofRows.filter(isProven);
  const unproven = ofRows.filter((one) => !isProven(one));
  const slotsLeft = slotsOf(shares.unproven, startBudget) - sum(unproven, ({ counts }) => counts.launching);
  const first = Math.min(sum(unproven, within(slotsOf(shares.first, startBudget))), Math.max(0, slotsLeft));
  const later = sum(proven, within(slotsOf(shares.later, startBudget)));
  return sum(own, ({ launches }) => launches) + Math.min(first + later, roomOf(ofRows));
}

/** One of its sandboxes stands. */
const isProven = ({ counts }: Wanted): boolean => counts.ready + counts.held > 0;

const within =
  (slots: number) =>
  ({ counts, launches }: Wanted): number =>
    Math.max(0, Math.min(launches, slots - counts.launching));

/** What the maxima of their environments leave, each for all its templates together. */
function roomOf(ofRows: readonly Wanted[]): number {
  const left = new Map<EnvironmentVersion | undefined, number>();
  for (const { counts, target } of ofRows) {
    const before = left.get(target.chosenFor) ?? target.max;
    left.set(target.chosenFor, before - counts.ready - counts.launching - counts.held);
  }
  return sum([...left.values()], (room) => Math.max(0, room));
}

const slotsOf = (share: number, startBudget: number): number => Math.max(1, Math.floor(share * startBudget));

const sum = <Element>(list: readonly Element[], numberOf: (element: Element) => number): number =>
  list.reduce((total, element) => total + numberOf(element), 0);
