/**
 * What sandboxd says to `as-policy` over its socket: the program's output while it runs, then how it ended. Who answers
 * queries says the same to sandboxd. A frame is a byte for its kind, four for its length, and its bytes.
 */
export type FrameKind = 'ended' | 'stdout' | 'stderr';

const kinds = ['ended', 'stdout', 'stderr'] as const satisfies readonly FrameKind[];
const headBytes = 5;

/** What `as-policy` asks for: a line of JSON, then the program's stdin to the end. */
export type PolicyRequest = {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** Of stdout and stderr together; a program that prints more is killed. */
  readonly outputBytes: number;
};

/** How the program ended. `refused`: it never started, for this reason. */
export type PolicyEnding =
  | { readonly kind: 'exited'; readonly exitCode: number }
  | { readonly kind: 'signalled'; readonly signal: string }
  | { readonly kind: 'timed_out' }
  | { readonly kind: 'flooded' }
  | { readonly kind: 'refused'; readonly reason: string };

export function frame(kind: FrameKind, bytes: Uint8Array): Buffer {
  const head = Buffer.alloc(headBytes);
  head.writeUInt8(kinds.indexOf(kind), 0);
  head.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([head, bytes]);
}

/** Frames out of chunks, which end anywhere. A stream that breaks off in a frame just ends; so does one that says a longer one. */
export async function* framesOf(
  chunks: AsyncIterable<Uint8Array>,
  longestBytes = Number.POSITIVE_INFINITY,
): AsyncGenerator<{ readonly kind: FrameKind; readonly bytes: Buffer }> {
  let held: Buffer = Buffer.alloc(0);
  for await (const chunk of chunks) {
    held = Buffer.concat([held, chunk]);
    if (held.length >= headBytes && held.readUInt32BE(1) > longestBytes) return;
    for (let length = wholeFrame(held); length !== null; length = wholeFrame(held)) {
      yield { kind: kinds[held.readUInt8(0)] ?? 'ended', bytes: held.subarray(headBytes, length) };
      held = held.subarray(length);
      if (held.length >= headBytes && held.readUInt32BE(1) > longestBytes) return;
    }
  }
}

function wholeFrame(held: Buffer): number | null {
  if (held.length < headBytes) return null;
  const length = headBytes + held.readUInt32BE(1);
  return held.length < length ? null : length;
}
