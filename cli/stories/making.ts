import type { RolloutKey } from '#src/model/rollout.ts';
import type { RolloutEvent } from '#src/ports/event-log.ts';

/** What is made of events as they come, which are too many to be kept all. */
export type Making<Made> = {
  /** False: it has no room for this one. `line`: as it was written, where it may come twice. */
  add(event: RolloutEvent, line?: string): boolean;
  readonly made: () => Made;
  /** Of what it has room for. */
  readonly most: string;
  /** The last event of this rollout has come: what is made of it is made, and its events are forgotten. */
  finish?(key: RolloutKey): void;
};
