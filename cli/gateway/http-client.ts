import type { Static, TSchema } from 'typebox';
import { Value } from 'typebox/value';
import { Agent, request } from 'undici';
import { splitLines } from '#src/adapters/event-log/event-lines.ts';
import { ErrorAnswer } from '#src/protocol/native/parts.ts';
import { productionTimings } from '#src/model/timings.ts';
import { CommandError } from '../command-error.ts';
import { visibleLine } from '#src/model/visible-text.ts';
import type { Connection } from './connection.ts';

export type HttpAnswer = { readonly status: number; readonly body: string; readonly tookMs: number };

type HttpRequest = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  /** Bytes go as they are, anything else as JSON. */
  readonly body?: unknown;
  /** Instead of the connection's own run. */
  readonly run?: string;
  readonly deadlineMs?: number;
};

/** Speaks to one gateway; answers of any status are answers, only silence is an error. */
export type HttpClient = {
  send(request: HttpRequest): Promise<HttpAnswer>;
  /** An answer that is lines, as they come; null for any other. */
  lines(request: Pick<HttpRequest, 'path' | 'run' | 'deadlineMs'>): Promise<AsyncGenerator<string> | null>;
  close(): Promise<void>;
};

/** A gateway holds a request for so long at most, and says then that the work goes on: `wait_s`. */
export const heldS = productionTimings.requestHoldMs / 1000;

/** Reading commands wait for a person; preflight gives longer ones. */
const defaultDeadlineMs = 30_000;

export function createHttpClient({ url, key, run: connectionRun }: Connection): HttpClient {
  const dispatcher = new Agent({ connections: 8, headersTimeout: 0, bodyTimeout: 0 });
  const authorization = `Bearer ${key}`;
  return {
    close: () => dispatcher.destroy(),
    lines: async ({ path, run = connectionRun, deadlineMs = defaultDeadlineMs }) => {
      const signal = AbortSignal.timeout(deadlineMs);
      const headers = { authorization, ...(run === null ? {} : { 'x-corral-run': run }) };
      try {
        const {
          statusCode,
          headers: had,
          body,
        } = await request(`${url}${path}`, { headers, dispatcher, signal });
        if (statusCode === 200 && had['content-type'] === linesType) return untilBroken(splitLines(body));
        await body.dump();
        return null;
      } catch (error) {
        throw unreachable(url, error);
      }
    },
    send: async ({ method, path, body, run = connectionRun, deadlineMs = defaultDeadlineMs }) => {
      const startedMs = performance.now();
      const signal = AbortSignal.timeout(deadlineMs);
      const headers = { authorization, ...(run === null ? {} : { 'x-corral-run': run }), ...typeOf(body) };
      const payload = payloadOf(body);
      try {
        const answer = await request(`${url}${path}`, { method, headers, dispatcher, signal, ...payload });
        const text = await answer.body.text();
        return { status: answer.statusCode, body: text, tookMs: performance.now() - startedMs };
      } catch (error) {
        throw unreachable(url, error);
      }
    },
  };
}

const linesType = 'application/x-ndjson';

/** A connection that breaks ends the lines; whether they were all, their last one says. */
async function* untilBroken(lines: AsyncGenerator<string>): AsyncGenerator<string> {
  try {
    yield* lines;
  } catch {
    return;
  }
}

function typeOf(body: unknown): Readonly<Record<string, string>> {
  if (body === undefined) return {};
  return { 'content-type': body instanceof Uint8Array ? 'application/octet-stream' : 'application/json' };
}

function payloadOf(body: unknown): { readonly body?: Uint8Array | string } {
  if (body === undefined) return {};
  return { body: body instanceof Uint8Array ? body : JSON.stringify(body) };
}

/** Nothing answered at all; see {@link isUnreachable}. */
class Unreachable extends CommandError {}

export const isUnreachable = (error: unknown): boolean => error instanceof Unreachable;

function unreachable(url: string, cause: unknown): CommandError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  const next = 'start a fleet with "corral up", or name another gateway with --url';
  return new Unreachable(`the gateway at ${url} did not answer: ${reason}`, 'the fleet', next, cause);
}

/** A 404 of the gateway: it knows no such thing (any more). */
export class NotKnown extends CommandError {}

/** Sends and checks the answer against its schema. Throws a CommandError for everything but 2xx. */
export async function askNative<Schema extends TSchema>(
  client: HttpClient,
  request: HttpRequest,
  schema: Schema,
): Promise<Static<Schema>> {
  const answer = await client.send(request);
  const body = parse(answer);
  if (answer.status >= 300) throw refusal(request, answer, body);
  if (Value.Check(schema, body)) return body;
  throw notOurs(request, answer);
}

function refusal(request: HttpRequest, answer: HttpAnswer, body: unknown): CommandError {
  if (!Value.Check(ErrorAnswer, body)) return notOurs(request, answer);
  const { code, message, blame, retryable, evidence } = body.error;
  const { requirement, cause, limits } = evidence;
  const which = typeof requirement === 'string' ? `${requirement}: ` : '';
  const reasons = [code, cause, limits].filter((each) => typeof each === 'string');
  const said = visibleLine(`${which}${message} (${reasons.join(', ')})`);
  if (code === 'unauthorized') {
    return new CommandError(said, 'yours', 'give a valid key with --key or CORRAL_KEY; see "corral keys"');
  }
  if (answer.status === 404) return new NotKnown(said, 'yours', 'check the name, and the run with --run');
  if (blame === 'caller') return new CommandError(said, 'yours', 'correct the request');
  return new CommandError(said, 'the fleet', retryable ? 'try again' : 'look at its logs and /readyz');
}

/** Another server answers at that address, or a proxy answers for the gateway. */
function notOurs({ method, path }: HttpRequest, { status, body }: HttpAnswer): CommandError {
  const start = body.slice(0, 120).replaceAll(/\s+/g, ' ');
  const said = `${method} ${path} answered ${status} with something that is not Corral's: ${start}`;
  return new CommandError(said, 'this machine', 'check --url, and proxies before the gateway');
}

function parse({ body }: HttpAnswer): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return null;
  }
}
