import { invalid } from '../http/answer-failure.ts';

/*
 * A body of `multipart/form-data`, read as it comes: a file in it never stands in memory. Between two parts stands the line
 * `--boundary`, and after the last one `--boundary--`; a part is a few headers, an empty line, and bytes until the next such line.
 */

export type Part = {
  readonly name: string;
  readonly filename: string | null;
  /** To be read to its end before the next part is asked for; what is left of it is thrown away. */
  readonly bytes: AsyncIterable<Buffer>;
};

/** Of the headers of one part, and of what stands before the first. */
const longestHead = 16 * 1024;
const lineEnd = '\r\n';

/** The boundary of a content type; null: it is no such body. Throws `invalid_request` where it names none. */
export function boundaryOf(contentType: string): string | null {
  const [type = '', ...parameters] = contentType.split(';').map((part) => part.trim());
  if (type.toLowerCase() !== 'multipart/form-data') return null;
  const found = parameters.find((part) => part.toLowerCase().startsWith('boundary='));
  const boundary = found?.slice('boundary='.length).replaceAll('"', '');
  if (boundary === undefined || boundary === '')
    throw invalid('the content type multipart/form-data names no boundary');
  return boundary;
}

/** The parts, one after the other. Throws `invalid_request` where the body is none, or ends before its end. */
export async function* partsOf(chunks: AsyncIterable<Buffer>, boundary: string): AsyncGenerator<Part> {
  const text = new Held(chunks);
  const delimiter = Buffer.from(`${lineEnd}--${boundary}`);
  // The first one may stand at the very beginning.
  text.unread(Buffer.from(lineEnd));
  await drain(text.until(delimiter, longestHead));
  while (await beginsPart(text)) {
    const { name, filename } = headOf(await whole(text.until(Buffer.from(lineEnd + lineEnd), longestHead)));
    const bytes = text.until(delimiter, Number.POSITIVE_INFINITY);
    yield { name, filename, bytes };
    await drain(bytes);
  }
}

/** After a delimiter: a line's end where a part follows, two dashes where none does. */
async function beginsPart(text: Held): Promise<boolean> {
  const after = await text.take(2);
  if (after === '--') return false;
  if (after === lineEnd) return true;
  throw invalid('the multipart body has something behind a boundary');
}

function headOf(head: Buffer): { readonly name: string; readonly filename: string | null } {
  const line = head
    .toString('utf8')
    .split(lineEnd)
    .find((each) => /^content-disposition:/i.test(each));
  const name = parameter(line ?? '', 'name');
  if (name === null) throw invalid('a part of the multipart body has no name');
  return { name, filename: parameter(line ?? '', 'filename') };
}

/** As browsers and clients write it: only the quote and line ends are escaped. */
function parameter(line: string, name: string): string | null {
  const start = `; ${name}="`;
  const at = line.indexOf(start);
  const end = line.indexOf('"', at + start.length);
  if (at < 0 || end < 0) return null;
  return line
    .slice(at + start.length, end)
    .replaceAll('%22', '"')
    .replaceAll(/%0d/gi, '\r')
    .replaceAll(/%0a/gi, '\n')
    .replaceAll('\\\\', '\\');
}

async function drain(bytes: AsyncIterable<Buffer>): Promise<void> {
  for await (const _ of bytes);
}

async function whole(bytes: AsyncIterable<Buffer>): Promise<Buffer> {
  const kept: Buffer[] = [];
  for await (const chunk of bytes) kept.push(chunk);
  return Buffer.concat(kept);
}

/** The body as far as it has come and was not taken yet. */
class Held {
  readonly #chunks: AsyncIterator<Buffer>;
  #held = Buffer.alloc(0);

  constructor(chunks: AsyncIterable<Buffer>) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  unread(bytes: Buffer): void {
    this.#held = Buffer.concat([bytes, this.#held]);
  }

  async take(length: number): Promise<string> {
    while (this.#held.length < length) await this.#more();
    const taken = this.#held.subarray(0, length).toString('latin1');
    this.#held = this.#held.subarray(length);
    return taken;
  }

  /** What comes before `end`, which is taken too. Read a second time it goes on where the first one left off. */
  until(end: Buffer, mostBytes: number): AsyncIterable<Buffer> {
    let isOver = false;
    let left = mostBytes;
    const next = async (): Promise<Buffer | null> => {
      for (;;) {
        if (isOver) return null;
        const at = this.#held.indexOf(end);
        isOver = at >= 0;
        // The end may have come in part, so as much is not given yet.
        const given = this.#held.subarray(0, isOver ? at : Math.max(0, this.#held.length - end.length + 1));
        this.#held = this.#held.subarray(given.length + (isOver ? end.length : 0));
        left -= given.length;
        if (left < 0) throw invalid('the multipart body has no part where one should begin');
        if (given.length > 0) return given;
        if (!isOver) await this.#more();
      }
    };
    return {
      [Symbol.asyncIterator]: () => ({
        next: async () => {
          const value = await next();
          return value === null ? { done: true, value: undefined } : { done: false, value };
        },
      }),
    };
  }

  async #more(): Promise<void> {
    const { done, value } = await this.#chunks.next();
    if (done === true) throw invalid('the multipart body ends before its last boundary');
    this.#held = Buffer.concat([this.#held, value]);
  }
}
