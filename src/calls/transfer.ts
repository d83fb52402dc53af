import type { ResolvedRollout } from '../claiming/resolve-rollout.ts';
import { targetOf } from '../claiming/target.ts';
import { refusal } from '../claiming/refusal.ts';
import { Barred, Failure, sandboxdUnreachable } from '../failure/failure.ts';
import { type CallId, callId, type SandboxId } from '../model/ids.ts';
import type { Admitted } from '../model/outcome.ts';
import {
  type FileIn,
  type FileOut,
  LinkError,
  type SandboxLink,
  type SandboxTarget,
} from '../ports/sandbox-link.ts';
import type { FileReply } from '../protocol/sandboxd/wire.ts';
import { timeLimit } from '../waiting/time-limit.ts';
import { noneFailed, type RetryDeps, retrying } from '../waiting/retries.ts';
import { retryPolicies } from '../waiting/retry-policies.ts';
import { type AdmissionDeps, admitOrObtain } from './admission.ts';
import { settlementOf } from './judge-call.ts';
import { SetupCopy, type SetupRoom } from './setup-copy.ts';
import type { Admissible } from './work.ts';
import type { CallStore } from '../ports/fleet/calls.ts';
import type { SetupEnd } from '../ports/fleet/setup.ts';
import { digestOfUpload, keptUpload } from '../claiming/replay-setup.ts';

export type TransferDeps = AdmissionDeps & {
  readonly link: Pick<SandboxLink, 'putFile' | 'getFile'>;
  readonly setupRoom: SetupRoom;
};

/** `broken_off`: an error, a lost connection, or a reader that went away; a repeat is a transfer of its own. */
type TransferEnd = {
  readonly how: 'done' | 'broken_off';
  /** Of the sandbox, whether it received any of it. */
  readonly admitted: Admitted;
  /** Null: the target is not known, because another gateway sent it. */
  readonly ranIn: SandboxId | null;
  readonly setup?: SetupEnd;
  readonly unserved?: true;
};

/** One file or archive in or out: the largest that is allowed over a slow line. */
const transferMs = 10 * 60_000;

/**
 * Bytes into a sandbox. A file is state, so a transfer is dispatched like a call: once one was sent, a lost sandbox
 * taints the rollout rather than being swapped for one without the file. Each try is dispatched by itself; that what was
 * written is not written again over what came later, its sandbox knows, by the caller's id.
 */
export async function putFile(
  deps: TransferDeps,
  rollout: ResolvedRollout,
  to: FileIn,
  body: AsyncIterable<Uint8Array>,
  setup = false,
): Promise<FileReply> {
  if (!setup) return putOnce(deps, rollout, to, body);
  const { work, target } = await admitOwn(deps, rollout, 'put_file', setup);
  const put = (bytes: AsyncIterable<Uint8Array>) =>
    deps.link.putFile(target, to, bytes, ...timeLimit(transferMs));
  const copy = new SetupCopy(deps.setupRoom);
  try {
    return await ending(
      deps,
      { work, target },
      () => put(copy.of(body)),
      (reply) => setupEndOf(work, to, copy, reply),
    );
  } finally {
    copy.letGo();
  }
}

async function putOnce(
  deps: TransferDeps,
  rollout: ResolvedRollout,
  to: FileIn,
  body: AsyncIterable<Uint8Array>,
): Promise<FileReply> {
  const { work, target, left } = await admitUpload(deps, rollout, to.call ?? null);
  const reply = await ending(deps, { work, target }, () =>
    deps.link.putFile(target, to, body, ...timeLimit(transferMs)),
  );
  if (left !== null) await settleTransfer(deps, left, { how: 'done', admitted: 'yes', ranIn: null });
  return reply;
}

/** In a replay the upload has the id that its caller gave it, so that a late repeat does not write it again. */
function setupEndOf(work: Admissible, to: FileIn, copy: SetupCopy, reply: FileReply): SetupEnd {
  const bytes = copy.whole();
  const sent = bytes === null ? '' : keptUpload({ ...to, call: to.call ?? work.call }, bytes);
  return { digest: digestOfUpload(reply), sent, bytes: copy.bytes };
}

/** Bytes out of a sandbox; the transfer settles when the last of them was read, or the reader went away. */
export async function getFile(
  deps: TransferDeps,
  rollout: ResolvedRollout,
  from: FileOut,
): Promise<AsyncIterable<Uint8Array>> {
  const { work, target } = await admitOwn(deps, rollout, 'get_file');
  try {
    const bytes = await deps.link.getFile(target, from, ...timeLimit(transferMs));
    return settlingAtEnd(deps, { work, target }, bytes);
  } catch (thrown) {
    throw await failed(deps, { work, target }, thrown);
  }
}

type Sent = { readonly work: Admissible; readonly target: SandboxTarget };
type TransferTool = 'put_file' | 'get_file';

/**
 * `left`: an earlier try with the caller's id that has not settled, perhaps because its gateway died in it. It can no longer
 * change the file once this try is done, and its rollout must not wait for it.
 */
async function admitUpload(
  deps: TransferDeps,
  rollout: ResolvedRollout,
  call: CallId | null,
): Promise<Sent & { readonly left: Admissible | null }> {
  if (call === null) return { ...(await admitOwn(deps, rollout, 'put_file')), left: null };
  const work = workOf(rollout, 'put_file', call, false);
  const admitted = await admit(deps, work).catch(nullIfBarred);
  if (admitted?.kind !== 'dispatch') return { ...(await admitOwn(deps, rollout, 'put_file')), left: null };
  if (admitted.again) return { ...(await admitOwn(deps, rollout, 'put_file')), left: work };
  return { work, target: targetOf(admitted.rollout), left: null };
}

/** An earlier try may be barred although its rollout is not; if both are, the new try is refused for it. */
function nullIfBarred(thrown: unknown): null {
  if (thrown instanceof Barred) return null;
  throw thrown;
}

async function admitOwn(
  deps: TransferDeps,
  rollout: ResolvedRollout,
  tool: TransferTool,
  setup = false,
): Promise<Sent> {
  const work = workOf(rollout, tool, deps.random.text(16), setup);
  const admitted = await admit(deps, work);
  if (admitted.kind === 'dispatch') return { work, target: targetOf(admitted.rollout) };
  throw refusal('rollout_closed', 'rollout' in admitted ? admitted.rollout : null);
}

/** No caller can use its id, because theirs hold no space. `lib/call.lua` recognizes a read by the start of its id. */
function workOf(rollout: ResolvedRollout, tool: TransferTool, id: string, setup: boolean): Admissible {
  const { key, claim, environment, known, keyId } = rollout;
  const call = callId(`corral ${tool} ${id}`);
  const of = { key, claim, environment, keyId };
  return { ...of, call, tool, digest: tool, known, counted: false, setup, swaps: noneFailed() };
}

const admit = (deps: TransferDeps, work: Admissible) =>
  retrying(deps, retryPolicies.fileAdmission, (deadline) => admitOrObtain(deps, work, transferMs, deadline));

async function ending<Result>(
  deps: TransferDeps,
  { work, target }: Sent,
  send: () => Promise<Result>,
  setupEnd: (result: Result) => SetupEnd | null = () => null,
): Promise<Result> {
  try {
    const result = await send();
    const setup = setupEnd(result);
    const end = { how: 'done', admitted: 'yes', ranIn: target.sandbox } as const;
    await settleTransfer(deps, work, { ...end, ...(setup && { setup }) });
    return result;
  } catch (thrown) {
    throw await failed(deps, { work, target }, thrown);
  }
}

async function* settlingAtEnd(
  deps: TransferDeps,
  { work, target }: Sent,
  bytes: AsyncIterable<Uint8Array>,
): AsyncIterable<Uint8Array> {
  let end: Pick<TransferEnd, 'how' | 'unserved'> = { how: 'broken_off' };
  try {
    yield* bytes;
    end = { how: 'done' };
  } catch (thrown) {
    const failure = failureOf(thrown);
    end = { how: 'broken_off', ...unservedBy(failure) };
    throw failure;
  } finally {
    await settleTransfer(deps, work, { ...end, admitted: 'yes', ranIn: target.sandbox });
  }
}

async function failed(deps: TransferDeps, { work, target }: Sent, thrown: unknown): Promise<unknown> {
  const end = { how: 'broken_off', ranIn: target.sandbox } as const;
  const failure = failureOf(thrown);
  await settleTransfer(deps, work, { ...end, admitted: receivedBy(thrown), ...unservedBy(failure) });
  return failure;
}

const unservedBy = (failure: unknown): Pick<TransferEnd, 'unserved'> =>
  failure instanceof Failure && failure.code === 'sandboxd_unreachable' ? { unserved: true } : {};

const receivedIn: Readonly<Record<LinkError['trouble']['kind'], Admitted>> = {
  not_sent: 'no',
  other_boot: 'no',
  other_sandbox: 'no',
  maybe_sent: 'unknown',
  struck: 'unknown',
  // A file that was refused may have been written in part.
  refused: 'yes',
};

/** Whether the sandbox received any of it. */
function receivedBy(thrown: unknown): Admitted {
  if (!(thrown instanceof LinkError)) return 'unknown';
  return receivedIn[thrown.trouble.kind];
}

/** A path that is wrong for its user is the caller's own mistake. A file system that does not answer in time is not. */
function failureOf(thrown: unknown): unknown {
  if (!(thrown instanceof LinkError)) return thrown;
  const { trouble } = thrown;
  if (trouble.kind === 'refused' && trouble.code === 'file_error' && trouble.errno !== 'ETIMEDOUT') {
    const errno = trouble.errno ?? 'unknown';
    return new Failure('invalid_request', `the file could not be transferred: ${trouble.message}`, {
      evidence: { errno },
    });
  }
  if (trouble.kind === 'refused' && trouble.code === 'call_conflict')
    return new Failure('call_conflict', `${trouble.message}; use a new call id`);
  return sandboxdUnreachable(`the transfer broke off: ${thrown.message}; send it again`, {
    admitted: receivedBy(thrown),
    cause: thrown,
  });
}

/**
 * Ends the dispatch of a file transfer, so that its rollout can be graded and can expire. If Redis forgot the dispatch, `ranIn` tells it
 * whether the file is in the sandbox that the rollout has now.
 */
export async function settleTransfer(
  deps: RetryDeps & { readonly calls: Pick<CallStore, 'settle'> },
  work: Admissible,
  { how, ...known }: TransferEnd,
): Promise<void> {
  const outcome = how === 'done' ? 'completed' : 'cancelled';
  const { ranIn, unserved, ...end } = known;
  const judged = settlementOf(work, { outcome, code: null, ...end });
  const settlement = {
    ...judged,
    keyId: work.keyId,
    ...(ranIn !== null && { ranIn }),
    ...(unserved && { unserved }),
  };
  await retrying(deps, retryPolicies.fileEnd, () => deps.calls.settle(settlement));
}
