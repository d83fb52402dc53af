import type { CallId, SandboxId } from '#src/model/ids.ts';
import {
  type FileIn,
  type FileOut,
  type SandboxLink,
  LinkError,
  type SandboxTarget,
} from '#src/ports/sandbox-link.ts';
import {
  type Compared,
  type FilePlace,
  maxOutputBytes,
  mostUnsettled,
  bootHeader,
  callIdsIn,
  callIdsText,
  ownerHeader,
  remainingHeader,
  sandboxHeader,
  settledHeader,
  spanHeader,
  type StreamLine,
  streamPieceBytes,
  unsettledHeader,
} from '#src/protocol/sandboxd/wire.ts';
import {
  bindReply,
  callAnswer,
  fileReply,
  identity,
  okReply,
  screenReply,
  stdinReply,
  streamLine,
  checkSpeaker,
  parseJson,
  refusalOf,
} from './answers.ts';
import { createPools, dispatch, maybeSent, type Lease, type Pools } from './connections.ts';
import { SettledIds } from './settled-ids.ts';
import { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';

type SandboxdHttpOptions = {
  /** The token of one sandbox; derived, never stored. */
  readonly tokenOf: (sandbox: SandboxId) => string;
  readonly connectTimeoutMs: number;
  /** Hears the status of every answer of a sandbox's own sandboxd. */
  readonly onAnswer?: RequestContext['onAnswer'];
  /** The span in which it is asked, for sandboxd's log; null: none. */
  readonly traceparent?: RequestContext['traceparent'];
};

/**
 * The line to sandboxd over HTTP, to `unix:/path` and `http://host:port`. Connections are kept alive per address and closed
 * when unused. Every method throws only `LinkError`.
 */
export function createSandboxdHttpLink(
  options: SandboxdHttpOptions,
): SandboxLink & { close(): Promise<void> } {
  const pools = createPools({ connectTimeoutMs: options.connectTimeoutMs });
  const { tokenOf, onAnswer = () => undefined, traceparent = () => null } = options;
  const settledIds = new SettledIds();
  const hearing: UnsettledHeard[] = [];
  const onUnsettled: UnsettledHeard = (target, calls) => {
    for (const hear of hearing) hear(target, calls);
  };
  const context: RequestContext = { pools, tokenOf, onAnswer, traceparent, settledIds, onUnsettled };

  return {
    identity: (target, signal, look) =>
      ask(
        context,
        target,
        get(look === undefined ? '/identity' : `/identity?look=${look}`),
        identity,
        signal,
      ),
    probe: (target, depth, signal) => ask(context, target, post(`/probe?depth=${depth}`), okReply, signal),
    prepare: (target, commands, timeoutMs, signal) =>
      ask(context, target, onceOnly(post('/prepare', { commands, timeoutMs }, timeoutMs)), okReply, signal),
    bind: (target, request, signal) => ask(context, target, post('/bind', request), bindReply, signal),
    call: (target, call, request, waitMs, signal) =>
      ask(context, target, { ...callPath(call, waitMs), method: 'PUT', json: request }, callAnswer, signal),
    attach: (target, call, waitMs, signal) =>
      ask(context, target, { ...callPath(call, waitMs), method: 'GET' }, callAnswer, signal),
    output: async (target, call, stream, signal) =>
      atMost(
        maxOutputBytes,
        await askForBytes(context, target, get(`${pathOf(call)}/output?stream=${stream}`), signal),
      ),
    stream: async (target, call, from, signal) => {
      const query = `stdout=${from.stdout}&stderr=${from.stderr}`;
      const path = `${pathOf(call)}/stream?${query}`;
      return linesOf(await askForBytes(context, target, { ...get(path), isLong: true }, signal));
    },
    screen: (target, terminal, signal) => {
      const path = `/screen${terminal === null ? '' : `?terminal=${terminal}`}`;
      return ask(context, target, { ...get(path), heldMs: screenMs }, screenReply, signal);
    },
    stdin: (target, call, piece, signal) => {
      const { offset, bytes, isLast, waitMs } = piece;
      const path = `${pathOf(call)}/stdin?offset=${offset}&end=${isLast}&waitMs=${waitMs}`;
      const question = { ...post(path), content: bytes, heldMs: waitMs };
      return ask(context, target, question, (json) => stdinReply(json, piece), signal);
    },
    settled: (target, calls) => settledIds.add(target, calls),
    onUnsettled: (hear) => void hearing.push(hear),
    cancel: (target, call, signal) => ask(context, target, post(`${pathOf(call)}/cancel`), nothing, signal),
    putFile: (target, to, body, signal, withinMs) =>
      ask(context, target, { method: 'PUT', path: pathIn(to), bytes: body, withinMs }, fileReply, signal),
    getFile: (target, from, signal, withinMs) =>
      askForBytes(context, target, { ...get(pathOut(from)), withinMs }, signal),
    takeArtifacts: (target, request, signal, withinMs) =>
      askForBytes(context, target, { ...post('/artifacts', request), withinMs }, signal),
    list: (target, request, signal, withinMs) =>
      askForBytes(context, target, { ...post('/listing', request), withinMs }, signal),
    contents: (target, request, signal, withinMs) =>
      askForBytes(context, target, { ...post('/contents', request), withinMs }, signal),
    putChanges: (target, compared, changes, signal, withinMs) => {
      const question = { method: 'PUT', path: changesPath(compared), bytes: changes, withinMs } as const;
      return ask(context, target, question, fileReply, signal);
    },
    close: () => pools.close(),
  };
}

function get(path: string): Question {
  return { method: 'GET', path };
}

function post(path: string, json?: object, heldMs?: number): Question {
  return { method: 'POST', path, ...(json && { json }), ...(heldMs !== undefined && { heldMs }) };
}

/** A second one would run beside the first. */
function onceOnly(question: Question): Question {
  return { ...question, repeatable: false };
}

function pathOf(call: CallId): string {
  return `/calls/${encodeURIComponent(call)}`;
}

function callPath(call: CallId, waitMs: number): { readonly path: string; readonly heldMs: number } {
  return { path: `${pathOf(call)}?waitMs=${waitMs}`, heldMs: waitMs };
}

function pathIn({ call, ...place }: FileIn): string {
  return placePath(place, call === undefined ? {} : { call });
}

function pathOut({ mostBytes, reportsLeftOut, ...place }: FileOut): string {
  const leftOut = reportsLeftOut === true ? { leftOut: 'report' } : {};
  return placePath(place, { mostBytes: String(mostBytes), ...leftOut });
}

function placePath({ form, path, user }: FilePlace, more: Readonly<Record<string, string>>): string {
  const query = new URLSearchParams({ path, user, ...more });
  return `/${form === 'archive' ? 'archive' : 'files'}?${query.toString()}`;
}

function changesPath({ below, except }: Compared): string {
  const query = new URLSearchParams();
  for (const path of below) query.append('below', path);
  for (const name of except) query.append('except', name);
  return `/changes?${query.toString()}`;
}

function nothing(): void {}

type Question = {
  readonly method: 'GET' | 'PUT' | 'POST';
  readonly path: string;
  readonly json?: object;
  readonly bytes?: AsyncIterable<Uint8Array>;
  readonly content?: Uint8Array;
  /** It takes a connection of its own, because others would wait for it. */
  readonly isLong?: boolean;
  /** How long sandboxd itself may hold the request. */
  readonly heldMs?: number;
  /** How long the caller waits. Undefined: as long as the link does. */
  readonly withinMs?: number | undefined;
  /** Whether the same question may be asked again in the same life of sandboxd without doing more. Default: yes. */
  readonly repeatable?: boolean;
};

type RequestContext = {
  readonly pools: Pools;
  readonly tokenOf: (sandbox: SandboxId) => string;
  readonly onAnswer: (sandbox: SandboxId, status: number) => void;
  readonly traceparent: () => string | null;
  readonly settledIds: SettledIds;
  readonly onUnsettled: UnsettledHeard;
};

type UnsettledHeard = Parameters<SandboxLink['onUnsettled']>[0];

type Answer = Dispatcher.ResponseData;

/**
 * The longest answer that is not raw bytes. Two full streams of control characters take 12.6 MB as JSON, and an identity with all
 * calls of a life some 9 MB. A sandbox whose commands are root can send more, and without end.
 */
export const longestAnswerBytes = 32 * 1024 * 1024;

async function textOf({ body }: Answer): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > longestAnswerBytes) throw maybeSent(new Error('the answer is longer than any of sandboxd'));
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** On top of what sandboxd may hold a request: a busy machine, a probe that starts a process, a long answer. */
const answerSlackMs = 30_000;
/** A transfer as a whole; sandboxd gives up on one after the same time. */
const transferMs = 600_000;

/** With the moment after which its answer is not waited for, on the clock of `performance.now()`. */
type Timed = Question & { readonly untilMs: number };

function timed(question: Question, longestMs: number): Timed {
  return { ...question, untilMs: performance.now() + Math.min(longestMs, question.withinMs ?? longestMs) };
}

/** Asks and reads the answer as JSON. Throws `LinkError`. */
async function ask<Value>(
  context: RequestContext,
  target: SandboxTarget,
  question: Question,
  read: (json: unknown) => Value,
  signal: AbortSignal,
): Promise<Value> {
  const longestMs = deadlineMs(question);
  return withDeadline(longestMs, signal, async (until) => {
    const { answer, release } = await send(context, target, timed(question, longestMs), until);
    try {
      const text = await textOf(answer);
      return read(text === '' ? null : parseJson(text));
    } catch (error) {
      throw error instanceof LinkError ? error : maybeSent(error);
    } finally {
      release();
    }
  });
}

/** Asks for raw bytes; they flow while the caller reads, and a break in the middle throws `LinkError` there. */
async function askForBytes(
  context: RequestContext,
  target: SandboxTarget,
  question: Question,
  signal: AbortSignal,
): Promise<AsyncIterable<Uint8Array>> {
  const until = AbortSignal.any([signal, AbortSignal.timeout(transferMs)]);
  const { answer, release } = await send(context, target, timed(question, transferMs), until);
  return bytesOf(answer, release);
}

async function* bytesOf(answer: Answer, release: () => void): AsyncIterable<Uint8Array> {
  try {
    for await (const chunk of answer.body as AsyncIterable<Uint8Array>) yield chunk;
  } catch (error) {
    throw maybeSent(error);
  } finally {
    answer.body.on('error', () => {}).destroy();
    release();
  }
}

/** A sandbox whose commands are root can send more than is kept of any stream, and without end. */
async function* atMost(mostBytes: number, bytes: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  let left = mostBytes;
  for await (const chunk of bytes) {
    yield chunk.subarray(0, left);
    left -= chunk.length;
    if (left <= 0) return;
  }
}

/** A stopped server keeps it waiting. */
const screenMs = 30_000;

/** Longer than any line of sandboxd's, which has at most a piece as base64. */
const longestLine = 2 * streamPieceBytes;

/**
 * Throws if the bytes end before the line that says so. A line that sandboxd never writes counts as that line: a command that runs
 * as root wrote it, and what the stream still has comes from the call's answer.
 */
async function* linesOf(bytes: AsyncIterable<Uint8Array>): AsyncIterable<StreamLine> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of bytes) {
    const [...lines] = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > longestLine) lines.push(rest);
    for (const line of lines) {
      const read = streamLine(line);
      yield read;
      if ('end' in read) return;
    }
  }
  throw maybeSent(new Error('the stream broke off'));
}

function deadlineMs({ bytes, heldMs }: Question): number {
  return bytes === undefined ? (heldMs ?? 0) + answerSlackMs : transferMs;
}

async function withDeadline<Value>(
  durationMs: number,
  signal: AbortSignal,
  work: (until: AbortSignal) => Promise<Value>,
): Promise<Value> {
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(new Error(`no answer in ${durationMs} ms`)), durationMs);
  try {
    return await work(AbortSignal.any([signal, deadline.signal]));
  } finally {
    clearTimeout(timer);
  }
}

type Sent = { readonly answer: Answer; readonly release: () => void };

/**
 * Sends once, and once more over a new connection when the first one broke: a connection kept alive may have died unnoticed,
 * and to sandboxd a repeat in the same life is no second order, as the journal goes by call id. What the second try
 * finds out about who lives there stands; a second failure says no more than the first did.
 */
async function send(
  context: RequestContext,
  target: SandboxTarget,
  question: Timed,
  until: AbortSignal,
): Promise<Sent> {
  try {
    const { pools } = context;
    const { address } = target;
    const lease = question.isLong === true ? pools.fresh(address) : pools.lease(address);
    return await trySend(context, target, question, lease, until);
  } catch (error) {
    const mayRepeat = question.bytes === undefined && question.repeatable !== false && !until.aborted;
    if (!(error instanceof LinkError) || error.trouble.kind !== 'maybe_sent' || !mayRepeat) throw error;
    return trySend(context, target, question, context.pools.fresh(target.address), until).catch(
      (second: unknown) => {
        throw second instanceof LinkError && second.trouble.kind === 'not_sent' ? error : second;
      },
    );
  }
}

async function trySend(
  context: RequestContext,
  target: SandboxTarget,
  question: Timed,
  lease: Lease,
  until: AbortSignal,
): Promise<Sent> {
  const settled = target.owner === undefined ? [] : context.settledIds.take(target);
  try {
    const options = optionsOf(context, target, question, settled);
    const answer = await dispatch(lease.dispatcher, options, until);
    checkSpeaker(target, answer.statusCode, answer.headers);
    context.onAnswer(target.sandbox, answer.statusCode);
    if (answer.statusCode >= 300) throw refusalOf(answer.statusCode, await textOf(answer));
    const unsettled = answer.headers[unsettledHeader];
    if (typeof unsettled === 'string') context.onUnsettled(target, callIdsIn(unsettled, mostUnsettled));
    return { answer, release: lease.release };
  } catch (error) {
    lease.release();
    if (settled.length > 0) context.settledIds.add(target, settled);
    throw error instanceof LinkError ? error : maybeSent(error);
  }
}

function optionsOf(
  { tokenOf, traceparent }: RequestContext,
  target: SandboxTarget,
  { method, path, json, bytes, content, untilMs }: Timed,
  settled: readonly CallId[],
): Dispatcher.RequestOptions {
  const span = traceparent();
  const headers = {
    authorization: `Bearer ${tokenOf(target.sandbox)}`,
    [sandboxHeader]: target.sandbox,
    [remainingHeader]: String(Math.max(1, Math.floor(untilMs - performance.now()))),
    ...(target.boot !== null && { [bootHeader]: target.boot }),
    ...(target.owner !== undefined && { [ownerHeader]: target.owner }),
    ...(span !== null && { [spanHeader]: span }),
    ...(settled.length > 0 && { [settledHeader]: callIdsText(settled) }),
  };
  if (json !== undefined) {
    return {
      method,
      path,
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(json),
    };
  }
  const body = bytes === undefined ? content : Readable.from(bytes);
  return { method, path, headers, ...(body !== undefined && { body }) };
}
