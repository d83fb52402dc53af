/** BullMQ refuses ids that are integers or contain a colon. */
const slotName = (number: number) => `slot-${number}`;

/** The slot of a ticket that is named after it. */
const slotOf = (ticket: string): string => /^slot-\d+/.exec(ticket)?.[0] ?? ticket;

/**
 * The slots to add so that `count` tickets wait or run, given those that do now: the lowest free ones, so that two
 * controllers that look at the same moment choose the same slots and fill them once.
 */
export function freeSlots(taken: readonly string[], count: number, max: number): readonly string[] {
  const busy = new Set(taken.map(slotOf));
  const missing = Math.max(0, Math.min(count, max) - busy.size);
  const names = Array.from({ length: max }, (_, number) => slotName(number));
  return names.filter((name) => !busy.has(name)).slice(0, missing);
}
