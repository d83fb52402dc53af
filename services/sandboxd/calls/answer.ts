import type {
  CallAnswer,
  CallEvidence,
  CallRequest,
  Ending,
  GradeTurn,
} from '#src/protocol/sandboxd/wire.ts';
import { decodeCapture, nothingCaptured, type RawCapture } from '../command/capture.ts';

/** An answer as the journal keeps it: raw bytes, whose number is known exactly; text is made of them each time it is sent. */
export type RawAnswer = {
  readonly callId: string;
  readonly ending: Ending;
  readonly stdout: RawCapture;
  readonly stderr: RawCapture;
  readonly evidence: CallEvidence;
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
export function reservedBytes(request: CallRequest): number {
  return 2 * request.keepBytes + overheadBytes;
}

/** The same bytes every time: the same fields in the same order. */
export function decodeAnswer(raw: RawAnswer): CallAnswer {
  const { callId, ending, stdout, stderr, ...rest } = raw;
  return { callId, ending, stdout: decodeCapture(stdout), stderr: decodeCapture(stderr), ...rest };
}

/** Of a call that was cancelled before anything of it ran. */
export function cancelledAnswer(callId: string): RawAnswer {
  const evidence = { durationMs: 0, outOfMemoryKills: null, escapedProcesses: 0, backgroundProcesses: 0 };
  return {
    callId,
    ending: { kind: 'cancelled' },
    stdout: nothingCaptured,
    stderr: nothingCaptured,
    evidence,
  };
}
