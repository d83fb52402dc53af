import type { EnvironmentVersion } from '../model/ids.ts';
import { pullSlots } from '../model/pull-slots.ts';
import type { PoolTarget, TemplateCounts } from '../ports/fleet/pool.ts';

/** What a template wants beyond the launches that are out. */
export type Wanted = {
  readonly counts: TemplateCounts;
  readonly target: PoolTarget;
  readonly launches: number;
};

/**
 * How many of the wanted launches the start slots have room for, where rows name the images. Others all count. The
 * reservation decides by the same slots; here they keep tickets from being offered in vain.
 */
export function pullable(wanted: readonly Wanted[], startBudget: number): number {
  const slots = pullSlots(startBudget);
  const own = wanted.filter(({ target }) => target.chosenFor === undefined);
  const ofRows = wanted.filter(({ target }) => target.chosenFor !== undefined);
  const proven = ofRows.filter(isProven);
  const unproven = ofRows.filter((one) => !isProven(one));
  const slotsLeft = slots.unproven - sum(unproven, ({ counts }) => counts.launching);
  const first = Math.min(sum(unproven, within(slots.first)), Math.max(0, slotsLeft));
  const later = sum(proven, within(slots.later));
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

const sum = <Element>(list: readonly Element[], numberOf: (element: Element) => number): number =>
  list.reduce((total, element) => total + numberOf(element), 0);
