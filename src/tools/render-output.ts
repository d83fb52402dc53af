import type { Texts } from '../model/environment.ts';
import type { CallAnswer, Captured } from '../protocol/sandboxd/wire.ts';

type RenderedOutput = {
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

/** What is left of one stream: its text with a mark where bytes are missing, and how many those are. */
type CutStream = { readonly text: string; readonly cutBytes: number };

/** Turns a number of missing bytes into the sentence that stands in their place. */
type CutMark = (bytes: number) => string;

/** The whole stream as it was kept, with the mark where sandboxd already dropped bytes. */
function keptStream(stream: Captured, mark: CutMark): CutStream {
  if (stream.cutBytes === 0) return { text: stream.head + stream.tail, cutBytes: 0 };
  return joined(stream.head, stream.tail, stream.cutBytes, mark);
}

/**
 * The stream in at most `limit` encoded bytes: half of them its beginning, the rest its end, because the first error
 * and the last line are what a reader looks for. Missing bytes are counted as UTF-8.
 */
function cutStream(stream: Captured, limit: number, mark: CutMark): CutStream {
  const whole = keptStream(stream, mark);
  if (encodedBytes(whole.text) <= limit) return whole;
  // The mark of all bytes is as long as any mark can get; two line ends set it apart.
  const room = Math.max(0, limit - encodedBytes(mark(stream.totalBytes + stream.cutBytes)) - 4);
  const [front, back] =
    stream.cutBytes === 0 ? [stream.head + stream.tail, null] : [stream.head, stream.tail];
  const head = headWithin(front, Math.ceil(room / 2));
  const rest = back ?? front.slice(head.length);
  const tail = tailWithin(rest, room - encodedBytes(head));
  const droppedHere = utf8Bytes(stream.head + stream.tail) - utf8Bytes(head) - utf8Bytes(tail);
  return joined(head, tail, stream.cutBytes + droppedHere, mark);
}

function joined(head: string, tail: string, cutBytes: number, mark: CutMark): CutStream {
  const before = head === '' || head.endsWith('\n') ? head : `${head}\n`;
  return { text: `${before}${mark(cutBytes)}\n${tail}`, cutBytes };
}

const utf8Bytes = (text: string): number => Buffer.byteLength(text, 'utf8');

/**
 * What Corral itself says about a command after its output, one sentence a line. A clean exit is worth a word only
 * where there is nothing else to read: an empty answer looks like a broken tool.
 */
function notesOn(answer: CallAnswer, texts: Texts): readonly string[] {
  const killed = (answer.evidence.outOfMemoryKills ?? 0) > 0;
  const ending = endingNote(answer, texts);
  return [...(ending === null ? [] : [ending]), ...(killed ? [texts.outOfMemory] : [])];
}

function endingNote({ ending, stdout, stderr, evidence }: CallAnswer, texts: Texts): string | null {
  switch (ending.kind) {
    case 'exited': {
      const silent = stdout.totalBytes + stderr.totalBytes === 0;
      return ending.exitCode === 0 && !silent ? null : fillText(texts.exitCode, { code: ending.exitCode });
    }
    case 'signalled':
      return fillText(texts.signalled, { signal: ending.signal });
    case 'timed_out':
      return fillText(texts.timedOut, { seconds: inSeconds(ending.timeoutMs ?? evidence.durationMs) });
    case 'cancelled':
      return texts.cancelled;
    case 'not_started':
      return fillText(texts.notStarted, { reason: ending.message });
  }
}

/** Whole seconds where they are whole, else tenths. */
const inSeconds = (durationMs: number): number => Math.round(durationMs / 100) / 10;

/**
 * Bytes of the text inside JSON quotes: what counts against a trainer's body limit is not the characters but what stands
 * for them there, where a line end takes two bytes and a control character six.
 */
export function encodedBytes(text: string): number {
  return Buffer.byteLength(JSON.stringify(text), 'utf8') - 2;
}

/** The longest beginning of the text that takes at most `limit` encoded bytes and splits no character. */
export function headWithin(text: string, limit: number): string {
  let left = limit;
  let end = 0;
  while (end < text.length) {
    const codePoint = text.codePointAt(end) ?? 0;
    left -= encodedBytesOf(codePoint);
    if (left < 0) break;
    end += unitsOf(codePoint);
  }
  return text.slice(0, end);
}

/** The longest end of the text that takes at most `limit` encoded bytes and splits no character. */
export function tailWithin(text: string, limit: number): string {
  let left = limit;
  let start = text.length;
  while (start > 0) {
    const codePoint = codePointBefore(text, start);
    left -= encodedBytesOf(codePoint);
    if (left < 0) break;
    start -= unitsOf(codePoint);
  }
  return text.slice(start);
}

function codePointBefore(text: string, index: number): number {
  const pair = index >= 2 ? (text.codePointAt(index - 2) ?? 0) : 0;
  return pair > 0xff_ff ? pair : text.charCodeAt(index - 1);
}

const unitsOf = (codePoint: number): number => (codePoint > 0xff_ff ? 2 : 1);

/** `"`, `\` and the control characters with a letter of their own: \b \t \n \f \r. */
const shortEscapes = new Set([0x22, 0x5c, 0x08, 0x09, 0x0a, 0x0c, 0x0d]);

function encodedBytesOf(codePoint: number): number {
  if (shortEscapes.has(codePoint)) return 2;
  if (codePoint < 0x20 || isSurrogate(codePoint)) return 6;
  if (codePoint < 0x80) return 1;
  if (codePoint < 0x8_00) return 2;
  return codePoint > 0xff_ff ? 4 : 3;
}

const isSurrogate = (codePoint: number): boolean => codePoint >= 0xd8_00 && codePoint <= 0xdf_ff;

const nameInBraces = /\{(\w+)\}/g;

/** One of the environment's texts with its `{names}` filled in; a name without a value stays as written. */
export function fillText(text: string, values: Readonly<Record<string, string | number>>): string {
  return text.replaceAll(nameInBraces, (whole, name: string) =>
    Object.hasOwn(values, name) ? String(values[name]) : whole,
  );
}
