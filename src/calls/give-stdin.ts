import { refusal } from '../claiming/refusal.ts';
import { targetOf } from '../claiming/target.ts';
import { Failure, sandboxdUnreachable } from '../failure/failure.ts';
import type { CallId } from '../model/ids.ts';
import { isOver } from '../model/rollout.ts';
import type { CallStore } from '../ports/fleet/calls.ts';
import type { RolloutRecord } from '../ports/fleet/records.ts';
import { LinkError, type SandboxLink, type StdinIn } from '../ports/sandbox-link.ts';
import type { SandboxdError, StdinReply } from '../protocol/sandboxd/wire.ts';
import { Deadline } from '../waiting/deadline.ts';
import { NotYet, type RetryDeps, retrying } from '../waiting/retries.ts';
import { retryPolicies } from '../waiting/retry-policies.ts';
import { orNull } from './or-null.ts';

export type StdinDeps = RetryDeps & {
  readonly link: Pick<SandboxLink, 'stdin'>;
  readonly calls: Pick<CallStore, 'lookup'>;
};
export type StdinPiece = Omit<StdinIn, 'waitMs'>;

/** Another gateway may be sending the call still. */
const onItsWayMs = 5_000;
/** One held request; a sandbox that is gone never closes its connections. */
const longestWaitMs = 20_000;
const answerGraceMs = 10_000;

/**
 * Gives a piece of stdin to a running call. What the sandbox has is what counts: a repeat adds nothing, and a command that does not
 * read any more is not a failure. Decides nothing of the call: a request for its answer finds a loss. Throws `unknown_call`, and
 * `sandboxd_unreachable`, which a repeat may fix; `invalid_request` for a hole, or a call whose stdin is not open.
 */
export async function giveStdin(
  deps: StdinDeps,
  rollout: RolloutRecord,
  call: CallId,
  piece: StdinPiece,
  deadline: Deadline,
): Promise<StdinReply> {
  if (rollout.discarded !== null) throw refusal(rollout.discarded.code, rollout, 'yes');
  if (isOver(rollout.state)) return closed(piece);
  const arrived = Deadline.in(deps.clock, onItsWayMs);
  const give = async () => {
    const waitMs = Math.min(longestWaitMs, deadline.remainingMs);
    const signal = AbortSignal.timeout(waitMs + answerGraceMs);
    try {
      return await deps.link.stdin(targetOf(rollout), call, { ...piece, waitMs }, signal);
    } catch (thrown) {
      if (isRefused(thrown, 'not_found')) return closed(piece);
      // Its sandbox may be gone by now, lost or broken: whatever the call came to, nothing reads.
      if (await isSettled(deps, rollout, call)) return closed(piece);
      throw isRefused(thrown, 'unknown_call') && !arrived.passed ? new NotYet(thrown) : thrown;
    }
  };
  try {
    return await retrying(deps, retryPolicies.stdinPiece, give, { until: deadline });
  } catch (thrown) {
    throw thrown instanceof LinkError ? failed(thrown, call) : thrown;
  }
}

async function isSettled({ calls }: StdinDeps, { key }: RolloutRecord, call: CallId): Promise<boolean> {
  const recorded = await orNull(() => calls.lookup(key, call));
  return recorded !== null && recorded.repeated !== null;
}

/** Of a rollout that is over, and in a sandbox of an older sandboxd, which closes stdin at once. */
const closed = ({ offset }: StdinPiece): StdinReply => ({ received: offset, open: false });

function isRefused(thrown: unknown, code: SandboxdError): boolean {
  return thrown instanceof LinkError && thrown.trouble.kind === 'refused' && thrown.trouble.code === code;
}

function failed(error: LinkError, call: CallId): Failure {
  if (isRefused(error, 'unknown_call'))
    return new Failure('unknown_call', `call ${call} never reached the sandbox; send it again`);
  if (isRefused(error, 'invalid_request') && 'message' in error.trouble)
    // What says so may be a command that runs as root: clients must not take it for the job's mistake.
    return new Failure('invalid_request', error.trouble.message, { evidence: { stdin: call } });
  const message = `stdin did not reach call ${call}: ${error.message}; send it again`;
  return sandboxdUnreachable(message, { admitted: 'unknown', cause: error });
}
