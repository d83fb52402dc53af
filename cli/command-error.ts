/**
 * How a command ends:
 *
 *   0    done
 *   1    a check failed (such as a failed preflight)
 *   2    your input: a wrong option, a wrong key, an unknown environment, run or rollout
 *   3    the fleet or the machine: no answer, or a part does not start
 *   130  interrupted
 */
export const exitCodes = { done: 0, notInOrder: 1, yours: 2, fleet: 3, interrupted: 130 } as const;

export type Fault = 'yours' | 'the fleet' | 'this machine';

/** An error for the person at the terminal: what happened, who caused it, what to do next. */
export class CommandError extends Error {
  readonly fault: Fault;
  readonly next: string;

  constructor(message: string, fault: Fault, next: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'CommandError';
    this.fault = fault;
    this.next = next;
  }

  /** The lines that a terminal shows. */
  get explanation(): string {
    const cause = this.fault === 'yours' ? 'your input' : this.fault;
    return `${this.message}\n  cause: ${cause}\n  fix:   ${this.next}`;
  }

  get exitCode(): number {
    return this.fault === 'yours' ? exitCodes.yours : exitCodes.fleet;
  }
}

/** The command is done and its result printed: a check failed. */
export class NotInOrder extends Error {}
