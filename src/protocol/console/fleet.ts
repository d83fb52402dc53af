import { type Static, Type } from 'typebox';

const Numbers = Type.Array(Type.Number());

/** Readings of a fleet, the oldest first, a value of each. Where readings are far apart, the console did not ask meanwhile. */
export const FleetHistoryAnswer = Type.Object({
  at_ms: Numbers,
  waiting: Numbers,
  held: Numbers,
  ready: Numbers,
  starting: Numbers,
  /** Discards of the minutes before each reading. */
  discarded: Numbers,
  /** Milliseconds between two readings, if the console asked all the time. */
  every_ms: Type.Number(),
});
export type FleetHistoryAnswer = Static<typeof FleetHistoryAnswer>;
