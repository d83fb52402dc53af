import { Misuse, ownFailure, Refused } from './errors.ts';

/** What is sent, as JSON that the fleet can read. What the model wrote must not become a mistake of the job. */

/** Of the caller's part of a body, in the gateway; the rest of a body is ids. */
const longestCommandBytes = 1024 * 1024;
/** Of an address, in the gateway's router; three characters for each that has to be escaped. */
const longestPathBytes = 1300;

export type Json = Readonly<Record<string, unknown>>;

/** The fleet's own bounds of a command; a test compares them with `/openapi.json`. */
export const longestCommandS = 3600;
export const mostWords = 4096;
export const mostOutputBytes = 10 * 1024 * 1024;
const callId = /^[!-~]{1,256}$/;

/**
 * Without halves of characters, which a model's tokens can make. Throws RangeError for numbers that JSON cannot hold, also for a
 * bigint, which a parser may make of a long number that the model wrote.
 */
function encode(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) => {
    if (typeof each === 'bigint' || (typeof each === 'number' && !Number.isFinite(each)))
      throw new RangeError(`${each} is not JSON`);
    return typeof each === 'string' ? each.toWellFormed() : each;
  });
}

/** Throws Misuse for what is not JSON: it is the trainer's own. */
export function jsonText(body: Json): string {
  try {
    return encode(body);
  } catch (error) {
    throw new Misuse(ownFailure('invalid_request', `this is not JSON: ${String(error)}`, 'caller'));
  }
}

/**
 * A tool's arguments as the model wrote them: the fleet reads text, and the model receives what is wrong in it. Parsed
 * arguments that JSON cannot hold are sent as text that is not JSON, so the model reads what is wrong and no job stops.
 */
export function readable(written: Json | string): Json | string {
  if (typeof written === 'string') return written;
  try {
    encode(written);
  } catch (error) {
    if (error instanceof RangeError) return '(arguments that are not JSON)';
  }
  return written;
}

function stdinFields(stdin: string | Uint8Array | undefined): Readonly<Record<string, string>> {
  if (stdin === undefined) return {};
  return typeof stdin === 'string'
    ? { stdin }
    : { stdin_base64: Buffer.from(stdin.buffer, stdin.byteOffset, stdin.byteLength).toString('base64') };
}

const refused = (code: string, message: string) => new Refused(ownFailure(code, message, 'model'));
const bytesOf = (text: string): number => new TextEncoder().encode(text).length;

/** What no kernel would start, or the fleet does not take. A model may have written it, so it is `Refused`. */
function checkCommand(words: readonly string[], others: readonly string[]): void {
  if (words.length === 0 || words.length > mostWords)
    throw refused('invalid_request', `a command has 1 to ${mostWords} words`);
  const texts = [...words, ...others];
  if (texts.some((text) => text.includes('\0')))
    throw refused('command_not_started', 'a command cannot hold a NUL character');
  if (texts.reduce((sum, text) => sum + bytesOf(text), 0) > longestCommandBytes)
    throw refused('payload_too_large', 'a command and its input have at most 1 MiB');
}

export type CommandOptions = {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string | Uint8Array;
  readonly user?: 'policy' | 'root';
  /** stderr comes in `stdout`, in the order of writing. */
  readonly merge?: boolean;
  /** Kept of each stream, 10 MiB at most; default: what the environment keeps. */
  readonly maxOutputBytes?: number;
};

/** Throws Refused for what no kernel would start, or the fleet does not take. */
export function commandBody(command: string | readonly string[], options: CommandOptions): Json {
  const { cwd, env, user, merge, maxOutputBytes } = options;
  const words = typeof command === 'string' ? [command] : command;
  const stdin = stdinFields(options.stdin);
  checkCommand(words, [...Object.entries(env ?? {}).flat(), cwd ?? '', ...Object.values(stdin)]);
  const what = typeof command === 'string' ? { command } : { argv: command };
  return { ...what, cwd, env, ...stdin, user, merge, max_output_bytes: maxOutputBytes };
}

type Bounded = {
  readonly timeoutS?: number;
  readonly callId?: string;
  readonly user?: string;
  readonly maxOutputBytes?: number;
};

/**
 * A harness may let the model choose a timeout, and take a call's id from it. What is out of bounds is refused here, so that an
 * `invalid_request` of the fleet is the job's mistake and never the model's.
 */
export function checkBounds({ timeoutS, callId: id, user, maxOutputBytes }: Bounded): void {
  if (timeoutS !== undefined && !(timeoutS > 0 && timeoutS <= longestCommandS))
    throw refused(
      'invalid_request',
      `timeoutS is more than 0 and at most ${longestCommandS}; got ${timeoutS}`,
    );
  // Addresses have the id, and `fetch` resolves these two.
  if (id !== undefined && (!callId.test(id) || id === '.' || id === '..'))
    throw refused(
      'invalid_request',
      'a call’s id has 1 to 256 printable characters without spaces, and is not . or ..',
    );
  if (user !== undefined && user !== 'policy' && user !== 'root')
    throw refused('invalid_request', `commands run as policy or root; got ${JSON.stringify(user)}`);
  const isWhole = maxOutputBytes === undefined || Number.isInteger(maxOutputBytes);
  if (!isWhole || (maxOutputBytes !== undefined && (maxOutputBytes < 1 || maxOutputBytes > mostOutputBytes)))
    throw refused('invalid_request', `maxOutputBytes is 1 to ${mostOutputBytes}; got ${maxOutputBytes}`);
}

/** NaN, which a model's parsed arguments can hold, must not stop the job. */
export function checkSample(sample: Json): void {
  try {
    encode(sample);
  } catch (error) {
    if (error instanceof RangeError)
      throw refused('invalid_request', `the sample is not JSON: ${error.message}`);
  }
}

export function checkPath(path: string): void {
  const isNone = path.replaceAll('/', '') === '' || path.includes('\0') || !path.isWellFormed();
  if (isNone) throw refused('invalid_request', `${JSON.stringify(path)} names no file`);
  // `fetch` resolves these before it sends them, however they are escaped, and another file would be meant.
  if (path.split('/').some((part) => part === '.' || part === '..'))
    throw refused('invalid_request', `${JSON.stringify(path)} has "." or ".."; write the path without them`);
  if (bytesOf(path) > longestPathBytes) throw refused('invalid_request', 'the path is too long');
}
