/**
 * Tar, as far as archives that go into sandboxes and come out of them need it: POSIX ustar with pax records where a name, a
 * target or a size does not fit, and GNU's long names where others wrote it. No dependency, because sandboxd has none.
 *
 * What is read is not trusted: sums are checked, what comes before an entry's content is bounded, sparse files and devices
 * are refused (unless who reads asks to pass devices over), and an archive that stops before its end mark is one that was cut off.
 */
export type TarEntry = {
  /** As written, `..` and a leading slash included: whoever unpacks it has to look. */
  readonly path: string;
  readonly kind: 'file' | 'folder' | 'link' | 'hard_link';
  /** Permission bits alone. */
  readonly mode: number;
  readonly mtimeS: number;
  /** Of its content: 0 of all but files. */
  readonly bytes: number;
  /** What a link names. */
  readonly target?: string;
};

export type ReadEntry = TarEntry & {
  readonly content: AsyncIterable<Uint8Array>;
  /** Where the content begins, in bytes from the archive's beginning. */
  readonly at: number;
  readonly uid: number;
  readonly gid: number;
  /** The bits above the permissions: set-user-id, set-group-id, sticky. */
  readonly special: number;
};

/** No tar, one that was cut off, or one with what we do not unpack. */
export class TarError extends Error {
  /** As a helper tells it beside the errors of the file system. */
  readonly code = 'EBADMSG';
}

/** It goes on after as many bytes as its reader takes. */
export class TarTooLong extends TarError {}

/** An archive as it comes. Throws `TarTooLong` after so many bytes, wherever they are: names, contents, or behind its end mark. */
export async function* tarOfAtMost(
  chunks: AsyncIterable<Uint8Array>,
  mostBytes: number,
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > mostBytes) throw new TarTooLong(`it has more than ${mostBytes} bytes`);
    yield chunk;
  }
}

/** It stopped before its end mark. */
export class TarCutOff extends TarError {}

const blockBytes = 512;
/** Names and records of one entry: paths end at 4 KiB, and so does what a file system keeps of them. */
const mostTellingBytes = 64 * 1024;
const permissions = 0o777;
const specials = 0o7000;

const typeOf = { file: '0', hard_link: '1', link: '2', folder: '5' } as const;
const kinds: Readonly<Record<string, TarEntry['kind']>> = {
  '0': 'file',
  '\0': 'file',
  '7': 'file',
  '1': 'hard_link',
  '2': 'link',
  '5': 'folder',
};

/** For characters, for blocks, and pipes. */
const devices: ReadonlySet<string> = new Set(['3', '4', '6']);

/** Two empty blocks. */
export const endOfTar = Buffer.alloc(2 * blockBytes);

/** What comes before an entry's content. */
export function tarHeader(entry: TarEntry): Buffer {
  const { path, kind, mode, mtimeS, bytes, target = '' } = entry;
  const name = kind === 'folder' ? `${path}/` : path;
  const records = [
    fitsName(name) ? '' : paxRecord('path', name),
    fitsName(target) ? '' : paxRecord('linkpath', target),
    bytes <= 0o77777777777 ? '' : paxRecord('size', String(bytes)),
  ].join('');
  const header = block(name, typeOf[kind], bytes, mode, mtimeS, target);
  if (records === '') return header;
  const said = Buffer.from(records);
  return Buffer.concat([block('pax', 'x', said.length, 0o644, 0, ''), said, tarPadding(said.length), header]);
}

/** A note for people and our clients, which tar programs pass over (pax: a comment of the archive). At most 32 KiB. */
export function tarComment(text: string): Buffer {
  const said = Buffer.from(paxRecord('comment', text));
  return Buffer.concat([block('pax', 'g', said.length, 0o644, 0, ''), said, tarPadding(said.length)]);
}

/** What comes after content of so many bytes. */
export function tarPadding(bytes: number): Buffer {
  return Buffer.alloc((blockBytes - (bytes % blockBytes)) % blockBytes);
}

const fitsName = (text: string) => text.length <= 100 && /^[ -~]*$/.test(text);

/** `30 mtime=1350244992.023960108\n`: its length counts its own digits. */
function paxRecord(name: string, value: string): string {
  const rest = ` ${name}=${value}\n`;
  const restBytes = Buffer.byteLength(rest);
  const digits = String(restBytes + String(restBytes).length).length;
  return `${restBytes + digits}${rest}`;
}

function block(
  name: string,
  type: string,
  bytes: number,
  mode: number,
  mtimeS: number,
  target: string,
): Buffer {
  const header = Buffer.alloc(blockBytes);
  const octal = (value: number, at: number, length: number) =>
    header.write(Math.max(0, Math.floor(value)).toString(8).slice(-length).padStart(length, '0'), at);
  header.write(name, 0, 100);
  octal(mode & permissions, 100, 7);
  octal(0, 108, 7);
  octal(0, 116, 7);
  octal(bytes, 124, 11);
  octal(mtimeS, 136, 11);
  header.write(type, 156);
  header.write(target, 157, 100);
  header.write('ustar\u000000', 257);
  header.write(`${sumOf(header).toString(8).padStart(6, '0')}\0 `, 148);
  return header;
}

/** The sum of a header's bytes, its own eight taken for blanks. */
function sumOf(header: Buffer): number {
  const own = 8 * 0x20;
  return header.reduce((sum, byte, at) => sum + (at >= 148 && at < 156 ? 0 : byte), own);
}

type Told = {
  path?: string;
  target?: string;
  bytes?: number;
  mtimeS?: number;
  uid?: number;
  gid?: number;
};

/**
 * The entries of an archive, one after another; what is left of a content when the next one is asked for is skipped. `passOver`
 * is called with each device and pipe; without it one is an error, as all else is that is no file, folder or link. Throws `TarError`.
 */
export async function* readTar(
  chunks: AsyncIterable<Uint8Array>,
  passOver?: (path: string) => void,
): AsyncGenerator<ReadEntry> {
  const source = new Source(chunks);
  let told: Told = {};
  for (;;) {
    const header = await source.exactly(blockBytes);
    if (header.every((byte) => byte === 0)) return source.drain();
    const { type, entry } = parse(header);
    if (type === 'x' || type === 'L' || type === 'K') {
      Object.assign(told, tell(type, await telling(source, entry.bytes)));
    } else if (type === 'g') {
      await telling(source, entry.bytes);
    } else {
      const part = { left: 0 };
      const isOther = devices.has(type) && passOver !== undefined;
      const whole = isOther ? { ...entry, bytes: 0 } : completed(entry, type, told);
      part.left = whole.bytes;
      if (isOther) passOver(told.path ?? entry.path);
      else
        yield { ...whole, ...ownership(header, told), at: source.passed, content: contentOf(source, part) };
      while (part.left > 0) part.left -= (await source.some(part.left)).length;
      await source.exactly(tarPadding(whole.bytes).length);
      told = {};
    }
  }
}

/** The whole content of a file, in memory once. Its length is the archive's word: look at it before. */
export async function wholeContent({
  bytes,
  content,
}: Pick<ReadEntry, 'bytes' | 'content'>): Promise<Buffer> {
  const whole = Buffer.allocUnsafeSlow(bytes);
  let at = 0;
  for await (const chunk of content) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

function parse(header: Buffer): { readonly type: string; readonly entry: TarEntry } {
  if (numberIn(header, 148, 8) !== sumOf(header)) throw new TarError('it is no tar archive, or a broken one');
  const type = header.toString('latin1', 156, 157);
  const isPosix = header.toString('latin1', 257, 263) === 'ustar\0';
  const prefix = isPosix ? textIn(header, 345, 155) : '';
  const name = textIn(header, 0, 100);
  return {
    type,
    entry: {
      path: prefix === '' ? name : `${prefix}/${name}`,
      kind: kinds[type] ?? 'file',
      mode: numberIn(header, 100, 8) & permissions,
      mtimeS: numberIn(header, 136, 12),
      bytes: numberIn(header, 124, 12),
      target: textIn(header, 157, 100),
    },
  };
}

const ownership = (header: Buffer, told: Told) => ({
  uid: told.uid ?? numberIn(header, 108, 8),
  gid: told.gid ?? numberIn(header, 116, 8),
  special: numberIn(header, 100, 8) & specials,
});

/** With what was told before its header. */
function completed(entry: TarEntry, type: string, told: Told): TarEntry {
  const path = told.path ?? entry.path;
  const known = kinds[type];
  if (known === undefined)
    throw new TarError(`${path} is of type ${JSON.stringify(type)}: no file, folder or link`);
  // Before POSIX a folder was a file whose name ends so.
  const kind = known === 'file' && path.endsWith('/') ? 'folder' : known;
  const bytes = kind === 'file' ? (told.bytes ?? entry.bytes) : 0;
  const { target = entry.target, mtimeS = entry.mtimeS } = told;
  const { mode } = entry;
  return { path, kind, mode, mtimeS, bytes, ...(target !== undefined && target !== '' && { target }) };
}

async function telling(source: Source, bytes: number): Promise<Buffer> {
  if (bytes > mostTellingBytes) throw new TarError('a name in it is too long');
  const said = await source.exactly(bytes);
  await source.exactly(tarPadding(bytes).length);
  return said;
}

function tell(type: 'x' | 'L' | 'K', said: Buffer): Told {
  if (type === 'L') return { path: textIn(said, 0, said.length) };
  if (type === 'K') return { target: textIn(said, 0, said.length) };
  return paxTold(said);
}

function paxTold(said: Buffer): Told {
  const told: Told = {};
  for (let at = 0; at < said.length;) {
    const blank = said.indexOf(0x20, at);
    const length = Number(said.toString('latin1', at, blank));
    if (blank < at || !Number.isInteger(length) || length <= blank - at || at + length > said.length)
      throw new TarError('a pax record in it is broken');
    const record = said.toString('utf8', blank + 1, at + length - 1);
    tellRecord(told, record.slice(0, record.indexOf('=')), record.slice(record.indexOf('=') + 1));
    at += length;
  }
  return told;
}

function tellRecord(told: Told, name: string, value: string): void {
  if (name.startsWith('GNU.sparse')) throw new TarError('it has a sparse file');
  if (value.includes('\0')) throw new TarError(`the ${name} of an entry has a NUL`);
  if (name === 'path') told.path = value;
  if (name === 'linkpath') told.target = value;
  if (name === 'size') told.bytes = wholeNumber(Number(value));
  if (name === 'uid' || name === 'gid') told[name] = wholeNumber(Number(value));
  if (name === 'mtime' && Number.isFinite(Number(value))) told.mtimeS = Number(value);
}

function textIn(header: Buffer, at: number, length: number): string {
  const end = header.indexOf(0, at);
  return header.toString('utf8', at, end === -1 || end > at + length ? at + length : end);
}

/** Octal text, or GNU's binary where the first bit is set. */
function numberIn(header: Buffer, at: number, length: number): number {
  const first = header[at] ?? 0;
  if (first >= 0x80) {
    const rest = header.subarray(at + 1, at + length);
    return wholeNumber(rest.reduce((value, byte) => value * 256 + byte, first & 0x7f));
  }
  const text = textIn(header, at, length).trim();
  return text === '' ? 0 : wholeNumber(/^[0-7]+$/.test(text) ? Number.parseInt(text, 8) : Number.NaN);
}

function wholeNumber(value: number): number {
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new TarError('a number in it cannot be read');
}

async function* contentOf(source: Source, part: { left: number }): AsyncGenerator<Uint8Array> {
  while (part.left > 0) {
    const chunk = await source.some(part.left);
    part.left -= chunk.length;
    yield chunk;
  }
}

/** Bytes by number out of chunks as they come. Throws `TarError` where they end too soon. */
class Source {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #rest: Uint8Array = Buffer.alloc(0);
  /** Bytes so far. */
  passed = 0;

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  /** At least one byte, and at most so many. */
  async some(most: number): Promise<Uint8Array> {
    while (this.#rest.length === 0) {
      const next = await this.#chunks.next();
      if (next.done === true) throw new TarCutOff('it was cut off before its end');
      this.#rest = next.value;
    }
    const taken = this.#rest.subarray(0, most);
    this.#rest = this.#rest.subarray(taken.length);
    this.passed += taken.length;
    return taken;
  }

  async exactly(bytes: number): Promise<Buffer> {
    const taken: Uint8Array[] = [];
    for (let left = bytes; left > 0; left -= taken.at(-1)?.length ?? 0) taken.push(await this.some(left));
    return Buffer.concat(taken);
  }

  /** What follows the end mark fills a tape's last record. */
  async drain(): Promise<void> {
    while ((await this.#chunks.next()).done !== true);
  }
}
