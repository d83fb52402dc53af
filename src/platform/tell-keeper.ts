import type { Clock } from '../ports/clock.ts';
import type { EventKeeper, EventKeepers } from '../ports/fleet/event-keepers.ts';
import { every, type Loop } from './every.ts';
import { thisProcess } from './this-process.ts';

/** Who asks for a story takes a process for gone after three times as long. */
const tellMs = 5_000;

/** As the story of a rollout names this process. */
export const ownHost = `${thisProcess.host}, process ${thisProcess.pid}`;

export type TellKeeperOptions = {
  readonly keepers: Pick<EventKeepers, 'tell'>;
  /** The folder's own name, or of a process without one the process'. */
  readonly log: string;
  readonly keeper: Omit<EventKeeper, 'host'>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Words that nobody heard; the next one is the same. */
  readonly onError: (thrown: unknown) => void;
};

/** Says where the events of this process are told, until the signal aborts. */
export function tellKeeper({ keepers, log, keeper, ...loop }: TellKeeperOptions): Loop {
  return every({ intervalMs: tellMs, ...loop }, () => keepers.tell(log, { ...keeper, host: ownHost }));
}
