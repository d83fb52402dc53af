import type {
  CallAnswer,
  CallEvidence,
  CallRequest,
  Ending,
  GradeTurn,
  OutputStream,
} from '#src/protocol/sandboxd/wire.ts';
import { decodeCapture, encodeCapture, nothingCaptured, type RawCapture } from '../command/capture.ts';

/** An answer as the journal keeps it: raw bytes, whose number is known exactly; text is made of them each time it is sent. */
export type RawAnswer = {
  readonly callId: string;
  readonly ending: Ending;
  readonly stdout: RawCapture;
  readonly stderr: RawCapture;
  readonly evidence: CallEvidence;
  readonly binary?: true;
  readonly kept?: NonNullable<CallAnswer['kept']>;
  readonly grade?: GradeTurn;
};

/** What an answer costs beside its output: ids, evidence, the objects themselves. */
const overheadBytes = 1024;

export function answerBytes({ stdout, stderr }: RawAnswer): number {
  const kept = stdout.head.length + stdout.tail.length + stderr.head.length + stderr.tail.length;
  return kept + overheadBytes;
}

/** The most that the answer of a call can cost. */
export function reservedBytes({ keepBytes }: Pick<CallRequest, 'keepBytes'>): number {
  return 2 * keepBytes + overheadBytes;
}

/** The same every time, field by field, but for how long ago the call ended. */
export function decodeAnswer(raw: RawAnswer, endedAgoMs: number): CallAnswer {
  const { callId, ending, stdout, stderr, binary, evidence, ...rest } = raw;
  return {
    callId,
    ending,
    stdout: decodeCapture(stdout),
    stderr: decodeCapture(stderr),
    ...(binary && { base64: { stdout: encodeCapture(stdout), stderr: encodeCapture(stderr) } }),
    evidence: { ...evidence, endedAgoMs: Math.max(0, Math.round(endedAgoMs)) },
    ...rest,
  };
}

/** Of a call that was cancelled before anything of it ran. */
export function cancelledAnswer(callId: string): RawAnswer {
  return emptyAnswer(callId, { kind: 'cancelled' });
}

/** Of a call whose turn came after its rollout's time was over. */
export function lateAnswer(callId: string): RawAnswer {
  const message = 'the time of the rollout was over before its turn came';
  // ETIME, as a timer that expired. A gateway of before reads it as a command that did not start.
  return emptyAnswer(callId, { kind: 'not_started', errno: 'ETIME', message, late: true });
}

function emptyAnswer(callId: string, ending: Ending): RawAnswer {
  const evidence = { durationMs: 0, outOfMemoryKills: null, escapedProcesses: 0, backgroundProcesses: 0 };
  return { callId, ending, stdout: nothingCaptured, stderr: nothingCaptured, evidence };
}

type Streams = Readonly<Record<OutputStream, RawCapture>>;

/**
 * What commands have printed beyond what an answer carries, for callers who asked for it. It stays here, and is fetched from
 * here: neither an answer nor fleet state grows by it. Room is bounded; what has ended first makes way for what begins. A
 * command for which there is none even then keeps what an answer carries, and says that it was cut.
 */
export class Outputs {
  readonly #mostBytes: number;
  readonly #kept = new Map<string, Streams>();
  #usedBytes = 0;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  /** Whether a command may keep so much; then it is to be given back by `keep`. */
  reserve(bytes: number): boolean {
    for (const [callId, streams] of this.#kept) {
      if (this.#usedBytes + bytes <= this.#mostBytes) break;
      this.#usedBytes -= sizeOf(streams);
      this.#kept.delete(callId);
    }
    if (this.#usedBytes + bytes > this.#mostBytes) return false;
    this.#usedBytes += bytes;
    return true;
  }

  /** Gives the room back, but for what there is to keep. */
  keep(callId: string, reservedBytes: number, streams: Streams | null): void {
    this.#usedBytes += (streams === null ? 0 : sizeOf(streams)) - reservedBytes;
    if (streams !== null) this.#kept.set(callId, streams);
  }

  /** Undefined where there was no more than the answer carries, or it had to make way. */
  find(callId: string): Streams | undefined {
    return this.#kept.get(callId);
  }
}

function sizeOf({ stdout, stderr }: Streams): number {
  return keptBytes(stdout) + keptBytes(stderr);
}

export function keptBytes({ head, tail }: RawCapture): number {
  return head.length + tail.length;
}
