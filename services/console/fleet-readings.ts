import type { FleetHistoryAnswer } from '#src/protocol/console/fleet.ts';
import type { FleetAnswer } from '#src/protocol/native/fleet.ts';

export type Reading = {
  readonly atMs: number;
  readonly waiting: number;
  readonly held: number;
  readonly ready: number;
  readonly starting: number;
  readonly discarded: number;
};

export function readingOf(
  { waiting, sandboxes, templates, verdicts, age_ms: ageMs }: FleetAnswer,
  nowMs: number,
): Reading {
  const sum = (of: 'held' | 'ready') => templates.reduce((all, template) => all + template[of], 0);
  return {
    atMs: nowMs - ageMs,
    waiting: waiting.rollouts,
    held: sum('held'),
    ready: sum('ready'),
    starting: sandboxes.starting,
    discarded: verdicts.discarded,
  };
}

const secondMs = 1_000;
const minuteMs = 60 * secondMs;
/** One a second of the last ten minutes, one in ten seconds of the last day. */
const fine = { everyMs: secondMs, forMs: 10 * minuteMs };
export const coarse = { everyMs: 10 * secondMs, forMs: 24 * 60 * minuteMs };
/** More than a chart has pixels for. */
const mostPoints = 600;

/** What a fleet was like, in memory. */
export class FleetReadings {
  #fine: Reading[] = [];
  #coarse: Reading[] = [];

  add(reading: Reading): void {
    this.#fine = added(this.#fine, reading, fine);
    this.#coarse = added(this.#coarse, reading, coarse);
  }

  /** The last so many minutes before a moment. */
  of(minutes: number, nowMs: number): FleetHistoryAnswer {
    const isFine = minutes * minuteMs <= fine.forMs;
    const all = (isFine ? this.#fine : this.#coarse).filter(({ atMs }) => atMs >= nowMs - minutes * minuteMs);
    const each = Math.ceil(all.length / mostPoints);
    // Counted from the newest, which is always there.
    const shown = all.filter((_, place) => (all.length - 1 - place) % each === 0);
    return columnsOf(shown, (isFine ? fine : coarse).everyMs * Math.max(1, each));
  }
}

function added(
  readings: Reading[],
  reading: Reading,
  { everyMs, forMs }: { readonly everyMs: number; readonly forMs: number },
): Reading[] {
  const last = readings.at(-1);
  const slotOf = ({ atMs }: Reading) => Math.floor(atMs / everyMs);
  if (last !== undefined && slotOf(reading) <= slotOf(last)) return readings;
  readings.push(reading);
  const firstKept = readings.findIndex(({ atMs }) => atMs >= reading.atMs - forMs);
  return firstKept > 0 ? readings.slice(firstKept) : readings;
}

const columnsOf = (readings: readonly Reading[], everyMs: number): FleetHistoryAnswer => ({
  at_ms: readings.map(({ atMs }) => atMs),
  waiting: readings.map(({ waiting }) => waiting),
  held: readings.map(({ held }) => held),
  ready: readings.map(({ ready }) => ready),
  starting: readings.map(({ starting }) => starting),
  discarded: readings.map(({ discarded }) => discarded),
  every_ms: everyMs,
});
