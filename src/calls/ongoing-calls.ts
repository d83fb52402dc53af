import type { Deadline } from '../claiming/deadline.ts';
import type { CallId } from '../model/ids.ts';
import type { RolloutKey } from '../model/rollout.ts';
import type { Clock } from '../ports/clock.ts';
import type { CallResult } from './call-result.ts';

export type Ongoing = { readonly result: Promise<CallResult>; readonly joined: boolean };

/**
 * Calls that this process is carrying out. The work belongs to nobody's request: a client that goes away, or a request
 * whose time is up, leaves it running, and a repeat joins it.
 */
export class OngoingCalls {
  readonly #clock: Clock;
  readonly #byCall = new Map<string, Promise<CallResult>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#byCall.size;
  }

  join(key: RolloutKey, call: CallId, start: () => Promise<CallResult>): Ongoing {
    const which = `${key} ${call}`;
    const underway = this.#byCall.get(which);
    if (underway !== undefined) return { result: underway, joined: true };
    const result = start().finally(() => this.#byCall.delete(which));
    // Nobody may be waiting any more when it fails; the failure is in fleet state for the repeat.
    result.catch(() => undefined);
    this.#byCall.set(which, result);
    return { result, joined: false };
  }

  async until(result: Promise<CallResult>, deadline: Deadline): Promise<CallResult | 'still_running'> {
    const timeIsUp = new AbortController();
    const patience = this.#clock
      .sleep(deadline.remainingMs, timeIsUp.signal)
      .then(() => 'still_running' as const);
    try {
      return await Promise.race([result, patience]);
    } finally {
      timeIsUp.abort();
    }
  }

  /** Resolves when nothing is under way any more; for a gateway that stops. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#byCall.values());
  }
}
