import { once } from 'node:events';
import { Capture } from '../command/capture.ts';
import { NotStarted, refusalAt, spawnWhenAble, type StartedProcess } from '../command/spawn-as.ts';
import type { Config } from '../config.ts';
import { killTree } from '../processes/kill-tree.ts';
import { WireError } from '../wire-error.ts';
import { type HelperRole, helperProcess } from './helper-process.ts';

/** A helper's own words: an error or a byte count. It runs as the policy's user, so they are not to be trusted. */
export const replyBytes = 4096;

const readsStdin: ReadonlySet<string> = new Set(['put', 'tar-in', 'place-grader', 'apply-changes']);

type Helper = {
  readonly process: StartedProcess;
  /** Rejects with `file_error` for what the helper reports, ETIMEDOUT for its time, or when something in the sandbox killed it. */
  readonly succeeded: Promise<void>;
  readonly release: () => void;
};

/**
 * Starts a helper for one request, and kills it when that takes longer than `longestMs`. Throws `internal` where it
 * cannot be started.
 */
export async function startHelper(
  config: Config,
  user: HelperRole,
  request: readonly string[],
  longestMs: number,
): Promise<Helper> {
  const stdin = readsStdin.has(request[0] ?? '') ? 'pipe' : 'nothing';
  const started = await spawnWhenAble({ ...helperProcess(config, user, request), stdin }).catch(
    (error: unknown) => {
      throw error instanceof NotStarted ? noHelper(error) : error;
    },
  );
  let isLate = false;
  const deadline = setTimeout(() => {
    isLate = true;
    void killTree(started.pid);
  }, longestMs);
  const succeeded = succeededOf(started).catch((error: unknown) => {
    throw isLate ? tooSlow(longestMs) : error;
  });
  succeeded.catch(() => {}); // Awaited later by who asked; until then it is not unhandled.
  return { process: started, succeeded, release: () => clearTimeout(deadline) };
}

/** Only time says so: the policy may have been behind it, or the machine. */
const tooSlow = (longestMs: number) =>
  new WireError('file_error', `the helper was not done after ${longestMs / 1000} s`, 'ETIMEDOUT');

const noHelper = ({ message, errno }: NotStarted) =>
  new WireError('internal', `no helper: ${message}`, errno);

async function succeededOf(started: StartedProcess): Promise<void> {
  const said = new Capture(replyBytes);
  started.stderr.on('data', (chunk: Buffer) => said.push(chunk));
  const [code, signal] = (await once(started.child, 'close')) as [number | null, string | null];
  const refusal = await refusalAt(code, started);
  if (refusal !== null) throw noHelper(refusal);
  if (code !== 0) throw fileError(said.taken().head.toString('utf8'), code, signal);
}

/** 127 is the loader's, 128 and more a shell's or Node's own way to say that it could not go on: want of memory, mostly. */
const gaveUpExit = 127;

function fileError(said: string, code: number | null, signal: string | null): WireError {
  if (signal !== null) {
    return new WireError('file_error', `something in the sandbox ended the transfer with ${signal}`, signal);
  }
  const { errno, message } = parseReply(said);
  if (errno === undefined && code !== null && code >= gaveUpExit)
    return new WireError('file_error', `the helper gave up with ${code}: ${said}`, 'ENOMEM');
  const text = typeof message === 'string' ? message : `the helper failed: ${said}`;
  return new WireError('file_error', text, typeof errno === 'string' ? errno : 'UNKNOWN');
}

/** What a helper said in JSON; empty where it is none. */
export function parseReply(json: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value)) : {};
  } catch {
    return {};
  }
}

/** One question to a helper that answers in a line of JSON. Throws `file_error` with what it reports, and `internal`. */
export async function askHelper(
  config: Config,
  user: HelperRole,
  request: readonly string[],
  longestMs: number,
  stdin = '',
): Promise<Readonly<Record<string, unknown>>> {
  const helper = await startHelper(config, user, request, longestMs);
  try {
    const said = new Capture(replyBytes);
    helper.process.stdout.on('data', (chunk: Buffer) => said.push(chunk));
    helper.process.child.stdin?.end(stdin);
    await helper.succeeded;
    return parseReply(said.taken().head.toString('utf8'));
  } finally {
    helper.release();
  }
}
