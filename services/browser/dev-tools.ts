import type { Readable, Writable } from 'node:stream';
import { ToolError } from '#services/sandboxd/helper/tools/tool-arguments.ts';

export type Fields = Readonly<Record<string, unknown>>;

/** Something that the browser says by itself. */
export type Event = { readonly method: string; readonly params: Fields };

type Pending = { readonly resolve: (result: Fields) => void; readonly reject: (error: Error) => void };

/** A page of 20,000 elements in one answer. */
const mostMessageBytes = 16 * 1024 * 1024;
/** A browser on a busy machine. A page whose script does not end answers nothing. */
const answerWithinMs = 20_000;

/**
 * The DevTools protocol over a pipe: JSON with a zero byte at its end. What comes from the browser is bounded: a longer message is read
 * and dropped, and the request that it answers fails.
 */
export class DevTools {
  readonly #input: Writable;
  readonly #hear: (event: Event) => void;
  readonly #pending = new Map<number, Pending>();
  #chunks: Buffer[] = [];
  #bytes = 0;
  #asked = 0;
  #endedBecause: string | null = null;

  constructor(input: Writable, output: Readable, hear: (event: Event) => void) {
    this.#input = input;
    this.#hear = hear;
    input.on('error', () => {}); // The browser has ended, and `end` is called.
    output.on('error', () => {});
    output.on('data', (chunk: Buffer) => this.#take(chunk));
  }

  /** Throws {@link ToolError} if the browser refuses it, has ended, or does not answer. */
  async ask(method: string, params: Fields = {}, sessionId?: string): Promise<Fields> {
    if (this.#endedBecause !== null) throw new ToolError(this.#endedBecause);
    const id = (this.#asked += 1);
    const answer = Promise.withResolvers<Fields>();
    const late = setTimeout(() => this.end('the browser did not answer and was ended'), answerWithinMs);
    this.#pending.set(id, answer);
    this.#input.write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    try {
      return await answer.promise;
    } finally {
      clearTimeout(late);
      this.#pending.delete(id);
    }
  }

  get hasEnded(): boolean {
    return this.#endedBecause !== null;
  }

  /** What is asked from now on, and what is still open, fails for this reason. */
  end(reason: string): void {
    this.#endedBecause ??= `${reason}; browser_goto starts another`;
    for (const { reject } of this.#pending.values()) reject(new ToolError(this.#endedBecause));
    this.#pending.clear();
  }

  #take(chunk: Buffer): void {
    let begin = 0;
    for (let end = chunk.indexOf(0); end >= 0; end = chunk.indexOf(0, begin)) {
      this.#add(chunk.subarray(begin, end));
      this.#finishMessage();
      begin = end + 1;
    }
    this.#add(chunk.subarray(begin));
  }

  /** Of a message that is too long only the beginning is kept. */
  #add(piece: Buffer): void {
    this.#bytes += piece.length;
    if (this.#bytes <= mostMessageBytes) this.#chunks.push(piece);
    else this.#chunks.length = Math.min(this.#chunks.length, 1);
  }

  #finishMessage(): void {
    const message = Buffer.concat(this.#chunks).toString();
    const isWhole = this.#bytes <= mostMessageBytes;
    this.#chunks = [];
    this.#bytes = 0;
    if (isWhole) this.#hearMessage(parseFields(message));
    else this.#refuse(Number(/^\{"id":(\d+)/.exec(message)?.[1]), 'the page is too large');
  }

  #hearMessage({ id, method, params, result, error }: Fields): void {
    if (typeof method === 'string') this.#hear({ method, params: fieldsOf(params) });
    else if (error === undefined) this.#pending.get(Number(id))?.resolve(fieldsOf(result));
    else this.#refuse(Number(id), `the browser refuses: ${String(fieldsOf(error)['message'])}`);
  }

  #refuse(id: number, reason: string): void {
    this.#pending.get(id)?.reject(new ToolError(reason));
  }
}

function parseFields(text: string): Fields {
  try {
    return fieldsOf(JSON.parse(text));
  } catch {
    return {};
  }
}

/** Of an object; of anything else none. */
export const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value)) : {};

export const listOf = (value: unknown): readonly Fields[] =>
  Array.isArray(value) ? value.map((each) => fieldsOf(each)) : [];
