import type { Texts } from '../model/environment.ts';
import type { CallAnswer } from '../protocol/sandboxd/wire.ts';
import { type CutMark, cutStream } from './cut-stream.ts';
import { encodedBytes, headWithin } from './encoded-text.ts';
import { fillText } from './fill-text.ts';
import { notesOn } from './notes.ts';

export type RenderedOutput = {
  /** What the model reads. */
  readonly text: string;
  readonly truncated: { readonly stdout: boolean; readonly stderr: boolean };
  /** Bytes that the command wrote. */
  readonly totalBytes: number;
  /** Bytes of them that the model does not see. */
  readonly cutBytes: number;
};

/** The trainers' limit is 1 MB a body; this leaves room for its other fields and longest ids. */
export const maxOutputBytes = 900 * 1024;

/**
 * A command's answer as the model gets it: stdout, then stderr, then our notes, each on lines of its own, in at most
 * `outputBytes` bytes of JSON. Notes are kept first; stdout and stderr share what is left, and what one does not need
 * the other may use.
 */
export function renderOutput(answer: CallAnswer, texts: Texts, outputBytes: number): RenderedOutput {
  const limit = Math.min(outputBytes, maxOutputBytes);
  const notes = headWithin(notesOn(answer, texts).join('\n'), limit);
  const streams = shareRoom(answer, limit - encodedBytes(notes) - lineEnds, (bytes) =>
    fillText(texts.bytesCut, { bytes }),
  );
  return {
    // Only a limit shorter than its own notes and marks needs this last cut.
    text: headWithin(joinLines([streams.stdout.text, streams.stderr.text, notes]), limit),
    truncated: { stdout: streams.stdout.cutBytes > 0, stderr: streams.stderr.cutBytes > 0 },
    totalBytes: answer.stdout.totalBytes + answer.stderr.totalBytes,
    cutBytes: streams.stdout.cutBytes + streams.stderr.cutBytes,
  };
}

/** Between three parts there are two line ends, of two encoded bytes each. */
const lineEnds = 4;

function shareRoom({ stdout, stderr }: CallAnswer, room: number, mark: CutMark) {
  const half = Math.floor(room / 2);
  const whole = cutStream(stdout, Number.POSITIVE_INFINITY, mark);
  const stderrCut = cutStream(stderr, Math.max(half, room - encodedBytes(whole.text)), mark);
  return { stdout: cutStream(stdout, room - encodedBytes(stderrCut.text), mark), stderr: stderrCut };
}

function joinLines(parts: readonly string[]): string {
  return parts
    .filter((part) => part !== '')
    .reduce((text, part) => (text === '' || text.endsWith('\n') ? text + part : `${text}\n${part}`), '');
}
