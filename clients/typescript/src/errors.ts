/**
 * Every way in which a rollout can fail that is not the policy's own, as a few classes.
 *
 * What the policy did is never an exception: exit codes, timeouts, bad arguments and broken sandboxes are results. So code
 * that catches nothing is right, and code that catches `CorralError` leaves the rollout out of its group.
 */

export type Blame = 'model' | 'caller' | 'infrastructure';
export type Admitted = 'yes' | 'no' | 'unknown';
export type Evidence = Readonly<Record<string, string | number | boolean | null>>;

/** What the fleet, or the way to it, reported. `admitted`: whether the command may have run. */
export type Failure = {
  readonly code: string;
  readonly message: string;
  readonly blame: Blame;
  readonly admitted: Admitted;
  readonly retryable: boolean;
  readonly tainted: boolean;
  readonly evidence: Evidence;
  readonly rolloutId: string | null;
  readonly callId: string | null;
};

/** The rollout has no score, and that is not the policy's doing. */
export class CorralError extends Error {
  override readonly name: string = 'CorralError';
  readonly failure: Failure;

  constructor(failure: Failure) {
    const where = failure.rolloutId === null ? '' : ` [rollout ${failure.rolloutId}]`;
    super(`${failure.code}: ${failure.message}${where}`);
    this.failure = failure;
  }

  get code(): string {
    return this.failure.code;
  }

  get admitted(): Admitted {
    return this.failure.admitted;
  }

  get tainted(): boolean {
    return this.failure.tainted;
  }

  get evidence(): Evidence {
    return this.failure.evidence;
  }

  get rolloutId(): string | null {
    return this.failure.rolloutId;
  }

  /** An error of the same class, with a stack of its own. */
  with(changes: Partial<Failure>): CorralError {
    const Same = this.constructor as typeof CorralError;
    return new Same({ ...this.failure, ...changes });
  }

  /** The same, with the id of its rollout if the fleet did not know it. */
  named(rolloutId: string): CorralError {
    return this.failure.rolloutId === null ? this.with({ rolloutId }) : this;
  }
}

/** An infrastructure failure has left this rollout without a score. Leave it out of its group. */
export class Lost extends CorralError {
  override readonly name: string = 'Lost';
}

/** The rollout can never be scored: its sandbox was lost, or it has ended. Leave it out of its group. */
export class Discarded extends Lost {
  override readonly name = 'Discarded';
}

/** No sandbox or no gateway within the patience of the client. For a trainer the same as `Discarded`. */
export class Unavailable extends Lost {
  override readonly name = 'Unavailable';
}

/** The job's configuration is wrong: a key, an environment, a request. Stop the job: no rollout can do better. */
export class Misuse extends CorralError {
  override readonly name = 'Misuse';
}

/**
 * What was sent or asked for is impossible, and the policy may be the cause: a file that does not exist, a command of 2 MB.
 * Neither a discard nor a reason to stop the job, because what the policy can cause must not be a way out of a low score.
 */
export class Refused extends CorralError {
  override readonly name = 'Refused';
}

/** The task demands what its environment does not give. Leave the rollout and its task out; other tasks go on. */
export class RequirementsUnmet extends CorralError {
  override readonly name = 'RequirementsUnmet';

  /** The kind of demand: `workdir`, `memory`, `network`, `reward`, … */
  get requirement(): string {
    return this.#text('requirement');
  }

  get wanted(): string {
    return this.#text('wanted');
  }

  get given(): string {
    return this.#text('given');
  }

  /** Which line to change. */
  get fix(): string {
    return this.#text('fix');
  }

  #text(name: string): string {
    return String(this.failure.evidence[name] ?? '');
  }
}

/** A failure that the client itself noticed. */
export function ownFailure(
  code: string,
  message: string,
  blame: Blame,
  changes: Partial<Failure> = {},
): Failure {
  const nothing = { admitted: 'no', retryable: false, tainted: false, evidence: {} } as const;
  return { code, message, blame, ...nothing, rolloutId: null, callId: null, ...changes };
}
