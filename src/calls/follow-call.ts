import { LinkError, type SandboxLink, type SandboxTarget } from '../ports/sandbox-link.ts';
import type { CallId, TenantId } from '../model/ids.ts';
import type { MutableOffsets, PieceLine, StreamLine, StreamOffsets } from '../protocol/sandboxd/wire.ts';
import { type RetryDeps, NotYet, retrying } from '../waiting/retries.ts';
import { retryPolicies } from '../waiting/retry-policies.ts';
import type { FollowBudget } from './follow-budget.ts';
import { Pace } from './pace.ts';
import { type OpenOutput, type OutputPiece, restOfOutput } from './rest-of-output.ts';
import type { CallResult } from './work.ts';

export type FollowDeps = RetryDeps & {
  readonly link: Pick<SandboxLink, 'stream'>;
  readonly followBudget: FollowBudget;
};

/** What happens to a followed call; `end` comes last, and nothing else says that it is complete. */
export type Progress = OutputPiece | { readonly kind: 'end'; readonly result: CallResult };

export type Followed = {
  /** Where it runs; null: nowhere any more, or its rollout has no sandbox. */
  readonly target: SandboxTarget | null;
  readonly tenant: TenantId;
  readonly call: CallId;
  /** What the reader has. */
  readonly from: StreamOffsets;
  /** What attaching to the call gives: it alone decides how the call ended. */
  readonly result: Promise<CallResult>;
  readonly open: OpenOutput;
};

/**
 * Streams a call's output, then its result. Only the result decides how the call ended; output that the sandbox could not stream is
 * read from the result. So neither a broken connection nor a policy that impersonates sandboxd can make a failure of it. Throws what
 * the result throws, and `sandboxd_unreachable` if reading the kept output breaks off: the reader goes on at its byte.
 */
export async function* followCall(
  deps: FollowDeps,
  followed: Followed,
  gone: AbortSignal,
): AsyncGenerator<Progress> {
  const { target, tenant, call, from, result, open } = followed;
  const settled = new AbortController();
  result.then(
    () => settled.abort(),
    () => settled.abort(),
  );
  const stopSignal = AbortSignal.any([settled.signal, gone]);
  const offsets = { ...from };
  const pace = new Pace(deps.clock, deps.followBudget, tenant);
  if (target !== null) yield* readPieces(deps, pace, { target, call }, offsets, stopSignal);
  const known = await unlessLeft(result, gone);
  if (known === null) return;
  yield* restOfOutput(known, offsets, open);
  yield { kind: 'end', result: known };
}

/** Null once the reader has left: the call goes on without it. */
async function unlessLeft(result: Promise<CallResult>, gone: AbortSignal): Promise<CallResult | null> {
  const left = new Promise<null>((resolve) => {
    if (gone.aborted) resolve(null);
    gone.addEventListener('abort', () => resolve(null), { once: true });
  });
  return Promise.race([result, left]);
}

/**
 * Of both streams of a call, counted from their beginning. What a command prints beyond this is not followed: its reader gets the end
 * of it from the result. So a command that prints without end costs a gateway as much as this at most.
 */
const mostFollowedBytes = 256 * 1024 * 1024;
/** After a connection that broke, however far it came. */
const reconnectMs = 100;

/** The pieces that the sandbox streams until the call is over. Advances `offsets`. A broken connection ends no call. */
async function* readPieces(
  deps: FollowDeps,
  pace: Pace,
  { target, call }: { readonly target: SandboxTarget; readonly call: CallId },
  offsets: MutableOffsets,
  stopSignal: AbortSignal,
): AsyncGenerator<OutputPiece> {
  while (!stopSignal.aborted) {
    const lines = await listen(deps, target, call, offsets, stopSignal);
    if (lines === null) return;
    try {
      for await (const line of lines) {
        if ('end' in line || line.at !== offsets[line.stream]) return;
        const piece = advance(line, offsets);
        yield piece;
        if (offsets.stdout + offsets.stderr >= mostFollowedBytes) return;
        await pace.keep(piece, stopSignal);
      }
    } catch (thrown) {
      if (!(thrown instanceof LinkError)) throw thrown;
    }
    await deps.clock.sleep(reconnectMs, stopSignal);
  }
}

function advance(line: PieceLine, offsets: MutableOffsets): OutputPiece {
  const { stream } = line;
  if ('lost' in line) {
    offsets[stream] += line.lost;
    return { kind: 'gap', stream, at: line.at, bytes: line.lost };
  }
  offsets[stream] += Buffer.byteLength(line.base64, 'base64');
  return { kind: 'output', ...line };
}

/** The lines from there on, once the first of them is there; null: the sandbox has none, or the reader has left. */
async function listen(
  deps: FollowDeps,
  target: SandboxTarget,
  call: CallId,
  offsets: StreamOffsets,
  stopSignal: AbortSignal,
): Promise<AsyncIterable<StreamLine> | null> {
  const attempt = async () => {
    try {
      return await awaitFirstLine(await deps.link.stream(target, call, { ...offsets }, stopSignal));
    } catch (thrown) {
      throw thrown instanceof LinkError && mayPass(thrown) ? new NotYet(thrown) : thrown;
    }
  };
  try {
    return await retrying(deps, retryPolicies.followedCall, attempt, { hurry: stopSignal });
  } catch (thrown) {
    if (thrown instanceof LinkError) return null;
    throw thrown;
  }
}

/** An older sandboxd has no streams; of a call that is over, and of a sandbox of another rollout, there is nothing to hear. */
function mayPass({ trouble }: LinkError): boolean {
  if (trouble.kind === 'refused') return trouble.code === 'unknown_call' || trouble.code === 'stream_busy';
  return trouble.kind === 'not_sent' || trouble.kind === 'maybe_sent';
}

/** Waits for the first line. A connection that breaks before it counts as failed, so the next one backs off. */
async function awaitFirstLine(lines: AsyncIterable<StreamLine>): Promise<AsyncIterable<StreamLine>> {
  const reading = lines[Symbol.asyncIterator]();
  const first = await reading.next();
  return {
    [Symbol.asyncIterator]: async function* () {
      try {
        for (let each = first; each.done !== true; each = await reading.next()) yield each.value;
      } finally {
        await reading.return?.();
      }
    },
  };
}
