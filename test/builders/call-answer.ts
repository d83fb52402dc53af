import type { CallAnswer, Captured, Ending } from '#src/protocol/sandboxd/wire.ts';

/** A stream of which nothing was dropped. */
export function aStream(text = ''): Captured {
  return { head: text, tail: '', totalBytes: Buffer.byteLength(text), cutBytes: 0 };
}

/** A stream of which sandboxd kept only both ends. */
export function aCutStream(head: string, tail: string, cutBytes: number): Captured {
  const keptBytes = Buffer.byteLength(head) + Buffer.byteLength(tail);
  return { head, tail, totalBytes: keptBytes + cutBytes, cutBytes };
}

type Over = {
  readonly ending?: Ending;
  readonly stdout?: Captured;
  readonly stderr?: Captured;
  readonly evidence?: Partial<CallAnswer['evidence']>;
};

/** A command that ended well and printed nothing; override what the test is about. */
export function anAnswer({ evidence, ...over }: Over = {}): CallAnswer {
  return {
    callId: 'call_1',
    ending: { kind: 'exited', exitCode: 0 },
    stdout: aStream(),
    stderr: aStream(),
    ...over,
    evidence: {
      durationMs: 5,
      outOfMemoryKills: 0,
      escapedProcesses: 0,
      backgroundProcesses: 0,
      ...evidence,
    },
  };
}
