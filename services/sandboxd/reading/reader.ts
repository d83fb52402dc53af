import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { getSystemErrorName } from 'node:util';
import type { CommandUser } from '#src/protocol/sandboxd/wire.ts';
import { NotStarted, refusalAt, spawnWhenAble, type StartedProcess } from '../command/spawn-as.ts';
import { monotonicMs } from '../clock.ts';
import type { Config } from '../config.ts';
import type { AskersTime } from '../http/askers-time.ts';
import { nativeProgram, processUser } from '../users.ts';
import { WireError } from '../wire-error.ts';

/*
 * The client of `reader`, a process that reads files with a user's rights (`infra/payload/native/reader.c` describes its requests and
 * answers). That user cannot signal, trace or imitate it, so the errors that it reports are true. If ids cannot be switched, it has the
 * policy's own id, and the policy can stop or end it: which of them did, or the machine, cannot be told.
 */

/** `closed`: a file that this user may not read. */
export type EntryKind = 'file' | 'closed' | 'folder' | 'link' | 'other';

export type Entry = {
  /** Empty if the entry was requested by its path. */
  readonly name: string;
  readonly kind: EntryKind;
  readonly mode: number;
  readonly bytes: number;
  readonly mtimeS: number;
};

const kinds: Readonly<Record<string, EntryKind>> = {
  f: 'file',
  u: 'closed',
  d: 'folder',
  l: 'link',
  o: 'other',
};

/**
 * A path could not be read, or the reader has ended. `code` is an errno, or the signal that ended the reader. A failing disk gives EIO,
 * or ETIMEDOUT if it does not respond; the policy's files cannot cause these two. LOST: the reader ended for a reason of its own.
 */
export class ReadError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.name = 'ReadError';
    this.code = code;
  }
}

/** The longest total wait for the reader in one transfer: half of a transfer's own limit, and far above that of a busy disk. */
const longestWaitMs = 300_000;

/** An entry has a name of 255 bytes and three numbers, a link's target 4,096 bytes. */
const longestText = 8_192;

/** Of all names in one folder, in characters: sandboxd has the memory of its sandbox. */
const mostListed = 16 * 1024 * 1024;

/** Starts one for `user`, to be closed by its caller. `owner` is for sandboxes where no policy was. Throws `internal` if it cannot be started. */
export async function startReader(
  config: Config,
  user: CommandUser | 'owner',
  time: AskersTime,
): Promise<Reader> {
  const { ids } = processUser(config, user);
  const argv = [nativeProgram(config, 'reader'), String(ids?.uid ?? -1), String(ids?.gid ?? -1)];
  const as = processUser(config, 'reader');
  try {
    const spec = { argv, cwd: '/', env: {}, user: as, isInternal: true, stdin: 'pipe' } as const;
    return new Reader(await spawnWhenAble(spec), time(longestWaitMs));
  } catch (error) {
    throw error instanceof NotStarted ? noReader(error) : error;
  }
}

const noReader = ({ message, errno }: NotStarted) =>
  new WireError('internal', `no reader: ${message}`, errno);

/** Takes one request at a time, and a read lasts until its last byte. All paths are absolute. All requests throw {@link ReadError}. */
export class Reader {
  readonly #process: StartedProcess;
  readonly #mostWaitedMs: number;
  readonly #chunks: AsyncIterator<Buffer>;
  readonly #ended: Promise<readonly [number | null, string | null]>;
  #rest: Buffer = Buffer.alloc(0);
  #isSending = false;
  #waitedMs = 0;

  constructor(started: StartedProcess, mostWaitedMs: number) {
    this.#process = started;
    this.#mostWaitedMs = mostWaitedMs;
    this.#chunks = (started.stdout as Readable & AsyncIterable<Buffer>)[Symbol.asyncIterator]();
    this.#ended = once(started.child, 'close') as Promise<[number | null, string | null]>;
    this.#ended.catch(() => {}); // Awaited only if it ends by itself.
    started.stderr.resume();
  }

  /** Describes what is at a path. Links are not followed. */
  async stat(path: string): Promise<Entry> {
    return this.#entryOf(await this.#ask(`s${path}`, path));
  }

  /** Describes the file at a path, if it can be read. */
  async open(path: string): Promise<Entry> {
    return this.#entryOf(await this.#ask(`o${path}`, path));
  }

  /** Lists a folder, sorted by name. More than `most` names are EFBIG; after that the reader can only be closed. */
  async list(path: string, most: number): Promise<readonly Entry[]> {
    const entries: Entry[] = [];
    let characters = 0;
    for (let text = await this.#ask(`l${path}`, path); text !== ''; text = await this.#answer(path)) {
      characters += text.length;
      if (entries.length === most) throw new ReadError('EFBIG', `there are more than ${most} names`);
      if (characters > mostListed) throw new ReadError('EFBIG', `the names in ${path} are too long`);
      entries.push(this.#entryOf(text));
      // A whole folder may be there already; other requests get their turn.
      if (entries.length % 1_000 === 0) await nextTurn();
    }
    return entries.sort((one, other) => (one.name < other.name ? -1 : 1));
  }

  /** Returns the target of a link. */
  async link(path: string): Promise<string> {
    return (await this.#ask(`k${path}`, path)).slice(1);
  }

  /** Reads exactly so many bytes of a file, with zeros in place of missing ones. */
  async read(path: string, bytes: number): Promise<AsyncIterable<Buffer>> {
    await this.#ask(`r${bytes} ${path}`, path);
    return this.#content(bytes);
  }

  /** If these bytes fail, the reader ends with the error as its exit code. */
  async *#content(bytes: number): AsyncGenerator<Buffer> {
    this.#isSending = true;
    yield* this.#bytes(bytes);
    this.#isSending = false;
  }

  /** Reads a file to its end, even one that the kernel generates. More than `mostBytes` are EFBIG. */
  async *get(path: string, mostBytes: number): AsyncGenerator<Buffer> {
    await this.#ask(`g${mostBytes} ${path}`, path);
    for (let bytes = await this.#pieceBytes(path); bytes > 0; bytes = await this.#pieceBytes(path))
      yield* this.#bytes(bytes);
  }

  /** Ends the process. */
  close(): void {
    this.#process.child.stdin?.destroy();
    this.#process.stdout.destroy();
    this.#process.child.kill('SIGKILL');
  }

  async #ask(request: string, path: string): Promise<string> {
    if (path.includes('\0')) throw new ReadError('EINVAL', 'a path has no NUL');
    this.#process.child.stdin?.write(`${request}\0`);
    return this.#answer(path);
  }

  async #answer(path: string): Promise<string> {
    const text = await this.#text();
    if (!text.startsWith('!')) return text;
    const code = nameOfErrno(wholeNumber(text.slice(1)));
    throw new ReadError(code, `${path}: ${code}`);
  }

  #entryOf(text: string): Entry {
    const [kind = '', mode, bytes, mtimeS, ...name] = text.split(' ');
    return {
      name: name.join(' '),
      kind: kinds[kind] ?? 'other',
      mode: wholeNumber(mode),
      bytes: wholeNumber(bytes),
      mtimeS: Number(mtimeS),
    };
  }

  async #pieceBytes(path: string): Promise<number> {
    return wholeNumber(await this.#answer(path));
  }

  async *#bytes(count: number): AsyncGenerator<Buffer> {
    for (let left = count; left > 0;) {
      if (this.#rest.length === 0) this.#rest = await this.#next();
      const part = this.#rest.subarray(0, left);
      this.#rest = this.#rest.subarray(part.length);
      left -= part.length;
      yield part;
    }
  }

  /** Returns the text up to the next NUL. */
  async #text(): Promise<string> {
    const parts: Buffer[] = [];
    let bytes = 0;
    for (;;) {
      const end = this.#rest.indexOf(0);
      parts.push(end === -1 ? this.#rest : this.#rest.subarray(0, end));
      bytes += parts.at(-1)?.length ?? 0;
      if (bytes > longestText) throw noAnswer('a text without an end');
      if (end !== -1) break;
      this.#rest = await this.#next();
    }
    this.#rest = this.#rest.subarray(this.#rest.indexOf(0) + 1);
    return Buffer.concat(parts).toString('utf8');
  }

  /** Waits for the next bytes. Only these waits count towards the limit, so a slow client is not a stall. */
  async #next(): Promise<Buffer> {
    const beganMs = monotonicMs();
    const over = new AbortController();
    const stalled = sleep(this.#mostWaitedMs - this.#waitedMs, 'stalled' as const, { signal: over.signal });
    stalled.catch(() => {}); // It is not waited for any more.
    try {
      const next = await Promise.race([this.#chunks.next(), stalled]);
      if (next === 'stalled') throw stall(this.#mostWaitedMs);
      if (next.done === true) throw await this.#end();
      return next.value;
    } finally {
      over.abort();
      this.#waitedMs += monotonicMs() - beganMs;
    }
  }

  async #end(): Promise<Error> {
    const [code, signal] = await this.#ended;
    const refusal = await refusalAt(code, this.#process);
    if (refusal !== null) return noReader(refusal);
    if (signal !== null) return new ReadError(signal, `the reader of the files was ended by ${signal}`);
    // Any other end says nothing of the files.
    const errno = this.#isSending && code !== null && code !== 0 ? nameOfErrno(code) : 'LOST';
    return new ReadError(errno, `the reader of the files ended with ${code}`);
  }
}

const stall = (waitedMs: number) =>
  new ReadError('ETIMEDOUT', `the files were waited for ${waitedMs / 1000} s`);

/** libuv has no name for some, such as ESTALE and EUCLEAN: these are never errors that the policy's files bring about. */
function nameOfErrno(errno: number): string {
  return errno > 0 ? getSystemErrorName(-errno) : 'LOST';
}

/** Only a process in the reader's place answers otherwise. */
function wholeNumber(text = ''): number {
  if (!/^\d{1,16}$/u.test(text)) throw noAnswer(text);
  return Number(text);
}

const noAnswer = (text: string) =>
  new ReadError('EPROTO', `the reader of the files gave no answer: ${text.slice(0, 100)}`);
