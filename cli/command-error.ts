/**
 * How a command ends:
 *
 *   0    done
 *   1    done, and what was looked at is not in order (a failed preflight)
 *   2    yours: a wrong option, a wrong key, an unknown environment, run or rollout
 *   3    the fleet's or the machine's: nothing answers, a part does not start
 *   130  interrupted
 */
export const exitCodes = { done: 0, notInOrder: 1, yours: 2, fleet: 3, interrupted: 130 } as const;

export type Fault = 'yours' | 'the fleet' | 'this machine';

/** An error for the person at the terminal: what happened, whose fault it is, what to do next. */
export class CommandError extends Error {
  readonly fault: Fault;
  readonly next: string;

  constructor(message: string, fault: Fault, next: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'CommandError';
    this.fault = fault;
    this.next = next;
  }

  get exitCode(): number {
    return this.fault === 'yours' ? exitCodes.yours : exitCodes.fleet;
  }
}

/** Everything was done and told; what was looked at is not in order. */
export class NotInOrder extends Error {}
