import { LinkError, type SandboxLink, type SandboxTarget } from '../ports/sandbox-link.ts';
import type { CallId } from '../model/ids.ts';
import type { OutputStream, StreamLine, StreamOffsets } from '../protocol/sandboxd/wire.ts';
import { type RetryDeps, NotYet, retrying } from '../waiting/retries.ts';
import { retryPolicies } from '../waiting/retry-policies.ts';
import { Pace } from './pace.ts';
import { type OpenOutput, type OutputPiece, restOfOutput } from './rest-of-output.ts';
import type { CallResult } from './work.ts';

export type FollowDeps = RetryDeps & { readonly link: Pick<SandboxLink, 'stream'> };

/** What happens to a followed call; `end` comes last, and nothing else says that it is complete. */
export type Progress = OutputPiece | { readonly kind: 'end'; readonly result: CallResult };

export type Followed = {
  /** Where it runs; null: nowhere any more, or its rollout has no sandbox. */
  readonly target: SandboxTarget | null;
  readonly call: CallId;
  /** What the reader has. */
  readonly from: StreamOffsets;
  /** What attaching to the call gives: it alone decides how the call ended. */
  readonly result: Promise<CallResult>;
  readonly open: OpenOutput;
};

/**
 * A call as it happens: what it prints, and then its result. The sandbox is only listened to. Whatever it says, or if it cannot be
 * heard, the call ends as its result does, and what was not heard comes from that: so neither a broken connection nor a policy that
 * speaks in sandboxd's place can make a failure of it. Throws what the result does, and `sandboxd_unreachable` if what the sandbox
 * has kept breaks off: the reader goes on at its byte.
 */
export async function* followCall(
  deps: FollowDeps,
  followed: Followed,
  gone: AbortSignal,
): AsyncGenerator<Progress> {
  const { target, call, from, result, open } = followed;
  const settled = new AbortController();
  result.then(
    () => settled.abort(),
    () => settled.abort(),
  );
  const over = AbortSignal.any([settled.signal, gone]);
  const at = { ...from };
  if (target !== null) yield* heard(deps, target, call, at, over);
  const known = await unlessGone(result, gone);
  if (known === null) return;
  yield* restOfOutput(known, at, open);
  yield { kind: 'end', result: known };
}

/** Null once the reader has left: the call goes on without it. */
async function unlessGone(result: Promise<CallResult>, gone: AbortSignal): Promise<CallResult | null> {
  const left = new Promise<null>((resolve) => {
    if (gone.aborted) resolve(null);
    gone.addEventListener('abort', () => resolve(null), { once: true });
  });
  return Promise.race([result, left]);
}

type At = Record<OutputStream, number>;

/**
 * Of both streams of a call, counted from their beginning. What a command prints beyond this is not followed: its reader gets the end
 * of it from the result. So a command that prints without end costs a gateway as much as this at most.
 */
const mostFollowedBytes = 256 * 1024 * 1024;
/** After a connection that broke, however far it came. */
const reconnectMs = 100;

/** What the sandbox says until the call is over. Moves `at`. Never throws. */
async function* heard(
  deps: FollowDeps,
  target: SandboxTarget,
  call: CallId,
  at: At,
  over: AbortSignal,
): AsyncGenerator<OutputPiece> {
  const pace = new Pace(deps.clock);
  while (!over.aborted) {
    const lines = await listen(deps, target, call, at, over);
    if (lines === null) return;
    try {
      for await (const line of lines) {
        if ('end' in line || line.at !== at[line.stream]) return;
        const piece = moved(line, at);
        yield piece;
        if (at.stdout + at.stderr >= mostFollowedBytes) return;
        await pace.keep(piece, over);
      }
    } catch (thrown) {
      if (!(thrown instanceof LinkError)) throw thrown;
    }
    await deps.clock.sleep(reconnectMs, over);
  }
}

type PieceLine = Exclude<StreamLine, { readonly end: true }>;

function moved(line: PieceLine, at: At): OutputPiece {
  const { stream } = line;
  if ('lost' in line) {
    at[stream] += line.lost;
    return { kind: 'gap', stream, at: line.at, bytes: line.lost };
  }
  at[stream] += Buffer.byteLength(line.base64, 'base64');
  return { kind: 'output', ...line };
}

/** The lines from there on, once the first of them is there; null: the sandbox has none, or the reader has left. */
async function listen(
  deps: FollowDeps,
  target: SandboxTarget,
  call: CallId,
  at: StreamOffsets,
  over: AbortSignal,
): Promise<AsyncIterable<StreamLine> | null> {
  const attempt = async () => {
    try {
      return await begun(await deps.link.stream(target, call, { ...at }, over));
    } catch (thrown) {
      throw thrown instanceof LinkError && mayPass(thrown) ? new NotYet(thrown) : thrown;
    }
  };
  try {
    return await retrying(deps, retryPolicies.followedCall, attempt, { hurry: over });
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

/** With the first line in hand: a connection that breaks before it is one that was never made, and the next one waits a little. */
async function begun(lines: AsyncIterable<StreamLine>): Promise<AsyncIterable<StreamLine>> {
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
