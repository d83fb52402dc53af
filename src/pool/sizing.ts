import type { PoolTarget, TemplateCounts } from '../ports/fleet/pool.ts';
import { pullable, type Wanted } from './pullable.ts';

/**
 * How many launches a template wants beyond those that are out: one for every waiting rollout, and the refill up to
 * `minReady` (or to what is announced, where that is more), never beyond `max` sandboxes of all kinds.
 *
 * This only decides how many tickets are worth offering. Which template a ticket starts, and whether it starts any,
 * is decided by the reservation, in one place for all controllers; so a count that is a moment old costs a ticket
 * that finds nothing to do, never a sandbox too many.
 */
export function wantedLaunches(counts: TemplateCounts, target: PoolTarget): number {
  const coming = counts.ready + counts.launching;
  const needed = counts.waiting + Math.max(target.minReady, counts.announced) - coming;
  const room = target.max - coming - counts.held;
  return Math.min(Math.max(0, Math.min(needed, room)), breakerAllows(counts));
}

// An open breaker gets one ticket at a time: the reservation lets it through when the next probe is due.
function breakerAllows({ breaker }: TemplateCounts): number {
  if (breaker === 'closed') return Number.POSITIVE_INFINITY;
  return breaker === 'open' ? 1 : 0;
}

/**
 * How many tickets should wait or run now: the launches that are out (`launching`, of all templates) plus those wanted,
 * within the start budget. More than the budget could only queue behind it, and would be stale when their turn came.
 */
export function wantedTickets(
  counts: readonly TemplateCounts[],
  targets: readonly PoolTarget[],
  launching: number,
  startBudget: number,
): number {
  const targetOf = new Map(targets.map((target) => [target.template, target]));
  const wanted = counts.flatMap((one): readonly Wanted[] => {
    const target = targetOf.get(one.template);
    return target === undefined ? [] : [{ counts: one, target, launches: wantedLaunches(one, target) }];
  });
  return Math.min(startBudget, launching + pullable(wanted, startBudget));
}
