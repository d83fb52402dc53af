import { refusal } from '../claiming/refusal.ts';
import { targetOf } from '../claiming/target.ts';
import { Failure } from '../failure/failure.ts';
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
import type { StdinPlaces } from './stdin-places.ts';

export type StdinDeps = RetryDeps & {
  readonly link: Pick<SandboxLink, 'stdin'>;
  readonly calls: Pick<CallStore, 'lookup'>;
  readonly stdinPlaces: StdinPlaces;
};
export type StdinPiece = Omit<StdinIn, 'waitMs'>;

/** Another gateway may be sending the call still. */
const onItsWayMs = 5_000;
/** One held request; a sandbox that is gone never closes its connections. */
const longestWaitMs = 20_000;
const answerGraceMs = 10_000;

/**
 * Gives a piece of stdin to a running call. What the sandbox has is what counts: a repeat adds nothing, and a command that does not
 * read any more is not a failure. Decides nothing of the call, whatever the sandbox says or if it is silent: then nothing was taken, and
 * a request for the call's answer finds a loss. Throws the loss of a lost rollout, `unknown_call` for one that was never sent, and
 * `invalid_request` for a hole, or a call whose stdin is not open.
 */
export async function giveStdin(
  deps: StdinDeps,
  rollout: RolloutRecord,
  call: CallId,
  piece: StdinPiece,
  deadline: Deadline,
): Promise<StdinReply> {
  if (rollout.discarded !== null) throw refusal(rollout.discarded.code, rollout, 'yes');
  if (isOver(rollout.state)) return emptyReply(piece, false);
  if (rollout.epoch === null) throw unknownCall(call);
  const arrived = Deadline.in(deps.clock, onItsWayMs);
  const give = async () => {
    const reply = await ask(deps, rollout, call, piece, deadline);
    const isTaken = !(reply instanceof LinkError) && (!reply.open || reply.received > piece.offset);
    if (isTaken) return reply;
    // Its sandbox may be gone by now, lost or broken: whatever the call came to, nothing reads.
    if (await isSettled(deps, rollout, call)) return emptyReply(piece, false);
    if (!(reply instanceof LinkError)) return reply;
    if (isRefused(reply, 'unknown_call') && arrived.passed) throw unknownCall(call);
    throw isRefused(reply, 'invalid_request') ? invalidStdin(reply, call) : new NotYet(reply);
  };
  try {
    return await retrying(deps, retryPolicies.stdinPiece, give, { until: deadline });
  } catch (thrown) {
    if (thrown instanceof LinkError) return emptyReply(piece, true);
    throw thrown;
  }
}

/** Without a place in time nothing was sent: the sandbox has as much as before. */
async function ask(
  { link, stdinPlaces }: StdinDeps,
  rollout: RolloutRecord,
  call: CallId,
  piece: StdinPiece,
  deadline: Deadline,
): Promise<StdinReply | LinkError> {
  const target = targetOf(rollout);
  const send = () => {
    const waitMs = Math.min(longestWaitMs, deadline.remainingMs);
    return link.stdin(target, call, { ...piece, waitMs }, AbortSignal.timeout(waitMs + answerGraceMs));
  };
  try {
    const reply = await stdinPlaces.hold(target.sandbox, deadline.orIn(longestWaitMs), send);
    return reply ?? emptyReply(piece, true);
  } catch (thrown) {
    if (thrown instanceof LinkError) return thrown;
    throw thrown;
  }
}

async function isSettled({ calls }: StdinDeps, { key }: RolloutRecord, call: CallId): Promise<boolean> {
  const recorded = await orNull(() => calls.lookup(key, call));
  return recorded !== null && recorded.repeated !== null;
}

/** `open` false: of a rollout or a command that is over. */
const emptyReply = ({ offset }: StdinPiece, open: boolean): StdinReply => ({ received: offset, open });

function isRefused(thrown: unknown, code: SandboxdError): boolean {
  return thrown instanceof LinkError && thrown.trouble.kind === 'refused' && thrown.trouble.code === code;
}

const unknownCall = (call: CallId) =>
  new Failure('unknown_call', `call ${call} never reached the sandbox; send it again`);

/** What says so may be a command that runs as root: clients must not take it for the job's mistake. */
const invalidStdin = ({ message }: LinkError, call: CallId) =>
  new Failure('invalid_request', message, { evidence: { stdin: call } });
