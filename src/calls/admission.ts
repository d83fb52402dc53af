import { keptCall } from '../claiming/replay-setup.ts';
import { Barred, Failure, sandboxdUnreachable } from '../failure/failure.ts';
import type { Deadline } from '../waiting/deadline.ts';
import { type ObtainDeps, obtainSandbox, type Occupied } from '../claiming/obtain-sandbox.ts';
import { refusal } from '../claiming/refusal.ts';
import { type RetryDeps, retrying } from '../waiting/retries.ts';
import { retryPolicies } from '../waiting/retry-policies.ts';
import type { AdmitReply, CallStore } from '../ports/fleet/calls.ts';
import type { RolloutRecord } from '../ports/fleet/records.ts';
import type { WorkMetrics } from '../ports/gateway-metrics.ts';
import { withProbesMs } from '../model/dependency.ts';
import type { Timings } from '../model/timings.ts';
import { type KeptSetup, mostSetupBytes } from '../ports/fleet/setup.ts';
import type { CallId } from '../model/ids.ts';
import type { Admissible, Work } from './work.ts';

export type AdmissionDeps = ObtainDeps & {
  readonly calls: CallStore;
  readonly work: Pick<WorkMetrics, 'obtained'>;
  readonly timings: Pick<Timings, 'longestLineMs' | 'lineReserveMs' | 'settleGraceMs'>;
};

/** A call that may go on from here, one way or another. `sender`: the id of the try that may send it now. */
export type AdmittedCall =
  | Exclude<AdmitReply, { kind: 'not_active' | 'barred' | 'setup_over' | 'dispatch' }>
  | (Extract<AdmitReply, { kind: 'dispatch' }> & { readonly sender: string });

type ToAdmit = Admissible & Partial<Pick<Work, 'said' | 'dependency' | 'todo'>>;

/**
 * Asks for admission at once where this process has claimed for the rollout before, which is all that later calls
 * need; else, and whenever the rollout is not active, it obtains a sandbox first. Throws the rollout's own code when
 * it is barred, `invalid_request` for set-up that comes too late, whatever `obtainSandbox` throws, and `sandboxd_unreachable` where the sandbox was swapped by another
 * gateway between our bind and our admission, or cannot keep the command's stdin open; what of it may pass is for the caller to try again.
 */
export async function admitOrObtain(
  deps: AdmissionDeps,
  work: ToAdmit,
  timeoutMs: number,
  deadline: Deadline,
): Promise<AdmittedCall> {
  const lineUntil = waitInLineUntil(deps.timings, work, timeoutMs, deadline);
  const obtain = () => obtainSandbox(deps, work.environment, work.claim, lineUntil, work.swaps);
  const occupied = work.known ? null : await obtain().catch(unlessOver);
  const admitted = await admit(deps, work, timeoutMs, occupied);
  if (admitted !== null) return admitted;
  const now = await admit(deps, work, timeoutMs, await obtain());
  if (now !== null) return now;
  throw sandboxdUnreachable('the sandbox was swapped before the call could be sent to it');
}

/** Told by the one call that made the rollout active, so that it counts once however many first calls it has. */
function tellObtained(
  work: AdmissionDeps['work'],
  { environment, launchType, placedAtMs, claimedAtMs }: RolloutRecord,
  occupied: Occupied | null,
): void {
  if (launchType === null || claimedAtMs === null) return;
  work.obtained(environment, launchType, claimedAtMs - placedAtMs + (occupied?.preparedMs ?? 0));
}

/** A rollout that is over takes no new call, but a repeat gets its record; only admission knows which of them this is. */
function unlessOver(thrown: unknown): null {
  if (thrown instanceof Barred) return null;
  throw thrown;
}

/** Null: the rollout is not active, so it needs a sandbox first. */
async function admit(
  deps: AdmissionDeps,
  work: ToAdmit,
  timeoutMs: number,
  occupied: Occupied | null,
): Promise<AdmittedCall | null> {
  const { limits } = work.environment;
  const sender = deps.random.text(senderChars);
  const reply = await deps.calls.admit({
    key: work.key,
    call: work.call,
    sender,
    tool: work.tool,
    digest: work.digest,
    timeoutMs: withProbesMs(work.dependency ?? null, timeoutMs + deps.timings.settleGraceMs),
    idleMs: limits.idleMs,
    budget: work.counted ? { toolCalls: limits.toolCalls, rolloutMs: limits.rolloutMs } : null,
    activation: occupied?.activation ?? null,
    ...(work.said && { arguments: work.said }),
    ...(work.setup && { setup: keptSetup(work.todo) }),
  });
  if (reply.kind === 'setup_over') throw setupOver(work.call);
  if (reply.kind === 'barred') throw refusal(reply.code, reply.rollout, reply.admitted);
  if (reply.kind !== 'dispatch') return reply.kind === 'not_active' ? null : reply;
  if (reply.activated) tellObtained(deps.work, reply.rollout, occupied);
  return { ...reply, sender };
}

/** Unique among the tries of one call. */
const senderChars = 8;

/** If Redis removed the id and its reply was lost, the second time changes nothing. */
export function removeSender(
  deps: RetryDeps & { readonly calls: Pick<CallStore, 'unsent'> },
  { key, call, counted }: Admissible,
  sender: string,
): Promise<void> {
  return retrying(deps, retryPolicies.unsentCall, () => deps.calls.unsent(key, call, sender, counted));
}

function keptSetup(todo: Work['todo'] | undefined): KeptSetup {
  if (todo?.kind !== 'run') return { sent: null, bytes: 0 };
  const sent = keptCall(todo.request);
  const bytes = Buffer.byteLength(sent);
  return { sent: bytes > mostSetupBytes ? null : sent, bytes };
}

const setupOver = (call: CallId): Failure =>
  new Failure(
    'invalid_request',
    `call ${call} is marked as set-up, and the rollout has had a call without that mark: from then on no call is set-up; leave setup out`,
  );

/** On the RFT face one request holds both the wait and the command; elsewhere the command may outlast the request. */
function waitInLineUntil(
  { longestLineMs, lineReserveMs }: AdmissionDeps['timings'],
  work: Admissible,
  timeoutMs: number,
  deadline: Deadline,
): Deadline {
  const reserveMs = work.claim.face === 'rft' ? timeoutMs + lineReserveMs : 0;
  return deadline.earlier(reserveMs).orIn(longestLineMs);
}
