import { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import type { SandboxId } from '#src/model/ids.ts';
import { LinkError, type SandboxTarget } from '#src/ports/sandbox-link.ts';
import { bootHeader, ownerHeader, sandboxHeader, spanHeader } from '#src/protocol/sandboxd/wire.ts';
import { checkSpeaker, parseJson, refusalOf } from './answers.ts';
import { dispatch, maybeSent } from './dispatch.ts';
import type { Lease, Pools } from './pools.ts';

export type Question = {
  readonly method: 'GET' | 'PUT' | 'POST';
  readonly path: string;
  readonly json?: object;
  readonly bytes?: AsyncIterable<Uint8Array>;
  /** How long sandboxd itself may hold the request. */
  readonly heldMs?: number;
  /** Whether the same question may be asked again in the same life of sandboxd without doing more. Default: yes. */
  readonly repeatable?: boolean;
};

export type RequestContext = {
  readonly pools: Pools;
  readonly tokenOf: (sandbox: SandboxId) => string;
  readonly onAnswer: (sandbox: SandboxId, status: number) => void;
  readonly traceparent: () => string | null;
};

type Answer = Dispatcher.ResponseData;

/** On top of what sandboxd may hold a request: a busy machine, a probe that starts a process, a long answer. */
const answerSlackMs = 30_000;
/** A transfer as a whole; sandboxd gives up on one after the same time. */
const transferMs = 600_000;

/** Asks and reads the answer as JSON. Throws `LinkError`. */
export async function ask<Value>(
  context: RequestContext,
  target: SandboxTarget,
  question: Question,
  read: (json: unknown) => Value,
  signal: AbortSignal,
): Promise<Value> {
  return withDeadline(deadlineMs(question), signal, async (until) => {
    const { answer, release } = await send(context, target, question, until);
    try {
      const text = await answer.body.text();
      return read(text === '' ? null : parseJson(text));
    } catch (error) {
      throw error instanceof LinkError ? error : maybeSent(error);
    } finally {
      release();
    }
  });
}

/** Asks for raw bytes; they flow while the caller reads, and a break in the middle throws `LinkError` there. */
export async function askForBytes(
  context: RequestContext,
  target: SandboxTarget,
  question: Question,
  signal: AbortSignal,
): Promise<AsyncIterable<Uint8Array>> {
  const until = AbortSignal.any([signal, AbortSignal.timeout(transferMs)]);
  const { answer, release } = await send(context, target, question, until);
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
  question: Question,
  until: AbortSignal,
): Promise<Sent> {
  try {
    return await trySend(context, target, question, context.pools.lease(target.address), until);
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
  question: Question,
  lease: Lease,
  until: AbortSignal,
): Promise<Sent> {
  try {
    const answer = await dispatch(lease.dispatcher, optionsOf(context, target, question), until);
    checkSpeaker(target, answer.statusCode, answer.headers);
    context.onAnswer(target.sandbox, answer.statusCode);
    if (answer.statusCode >= 300) throw refusalOf(answer.statusCode, await answer.body.text());
    return { answer, release: lease.release };
  } catch (error) {
    lease.release();
    throw error instanceof LinkError ? error : maybeSent(error);
  }
}

function optionsOf(
  { tokenOf, traceparent }: RequestContext,
  target: SandboxTarget,
  { method, path, json, bytes }: Question,
): Dispatcher.RequestOptions {
  const span = traceparent();
  const headers = {
    authorization: `Bearer ${tokenOf(target.sandbox)}`,
    [sandboxHeader]: target.sandbox,
    ...(target.boot !== null && { [bootHeader]: target.boot }),
    ...(target.owner !== undefined && { [ownerHeader]: target.owner }),
    ...(span !== null && { [spanHeader]: span }),
  };
  if (json !== undefined) {
    return {
      method,
      path,
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(json),
    };
  }
  return { method, path, headers, ...(bytes !== undefined && { body: Readable.from(bytes) }) };
}
