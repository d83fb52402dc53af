import { type CorralError, type Failure, Misuse, ownFailure, Unavailable } from './errors.ts';
import { toError } from './failures.ts';
import { isObject, NotCorral, readFailure } from './results.ts';
import type { Route } from './routes.ts';
import { type Answer, type Broken, retryAfterS, type Sent, send } from './transport.ts';
import { userAgent } from './version.ts';
import type { Json } from './writing.ts';

/*
 * A request until it has an answer: what is tried again, after which pause, and until when. Everything that is sent again is
 * known by an id (the rollout's, the call's), so it happens once.
 */

/** The gateway answers within `wait_s`; what comes later than this is lost on the way. */
const overdueS = 30;
/** Requests that are not held are answered within the 30 s for which the fleet tries by itself. */
const promptS = 60;
export const firstPauseS = 0.2;
const longestPauseS = 5;
/** For a gateway that this process has never reached: longer than a restart takes, and short for a wrong address. */
const firstContactS = 15;
const reportEveryMs = 60_000;

/** Where the fleet is and who asks. `patienceS`: how long a request is repeated; `holdS`: `wait_s` at most. */
export type Gateway = {
  readonly url: string;
  readonly key: string;
  readonly run: string | null;
  readonly patienceS: number;
  readonly holdS: number;
  /** Receives what is tried again. */
  readonly log: (line: string) => void;
};

/** A request as the client thinks of it. */
export type Asked = {
  readonly route: Route;
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array<ArrayBuffer>;
  readonly mostBytes?: number;
  readonly silentS?: number;
  readonly patienceS?: number;
  readonly signal?: AbortSignal;
  /** No other call can have its id: the client made it, or the fleet has accepted this one. */
  readonly isNewId?: boolean;
  /** An adapter's own question, whose refusal says nothing of the rollout. */
  readonly isProbe?: boolean;
  /** Called with what delays the request, and with null when it goes on. */
  readonly onTrouble?: (error: CorralError | null) => void;
};

/** A good answer: 200, 201, or 202 for work that goes on. */
export type Reply = { readonly status: number; readonly body: Json; readonly answer: Answer };

export type Again = { readonly error: CorralError; readonly retryAfterS: number | null };
export type Judged = { readonly reply: Reply } | { readonly again: Again } | { readonly error: CorralError };

/** Gateways that have answered once: from then on another server's answer is an accident on the way. */
const met = new Set<string>();

/** Throws a CorralError, or what the request's own signal aborts with. */
export async function exchange(gateway: Gateway, asked: Asked): Promise<Reply> {
  const tries = new Tries(gateway, asked);
  for (;;) {
    const judged = judge(gateway, asked, tries.failed, await send(toSent(gateway, asked, tries.leftS)));
    if ('error' in judged) throw judged.error;
    if ('again' in judged) await tries.pause(judged.again);
    else {
      asked.onTrouble?.(null);
      return judged.reply;
    }
  }
}

/** The tries of one request, and how long they may take together. */
export class Tries {
  failed = 0;
  readonly #gateway: Gateway;
  readonly #asked: Asked;
  readonly #beganMs = performance.now();
  #untilMs: number;

  constructor(gateway: Gateway, asked: Asked) {
    this.#gateway = gateway;
    this.#asked = asked;
    this.#untilMs = this.#beganMs + (asked.patienceS ?? gateway.patienceS) * 1000;
  }

  get leftS(): number {
    return (this.#untilMs - performance.now()) / 1000;
  }

  /** Until the next try. Throws what the last one met if there is no time for another, or what the request's own signal aborts with. */
  async pause({ error, retryAfterS: afterS }: Again): Promise<void> {
    this.#asked.onTrouble?.(error);
    report(this.#gateway, this.#asked, error);
    if (!met.has(this.#gateway.url) && error.admitted === 'no')
      this.#untilMs = Math.min(this.#untilMs, this.#beganMs + firstContactS * 1000);
    const waitMs = pauseS(this.failed, afterS, Math.random()) * 1000;
    if (performance.now() + waitMs > this.#untilMs)
      throw outOfPatience(error, performance.now() - this.#beganMs);
    await sleep(waitMs, this.#asked.signal);
    this.failed += 1;
  }
}

/** When a failure of a gateway that is tried again was last reported, by address and code. */
const reportedAtMs = new Map<string, number>();

/** Each code at its first failure and once a minute, for all rollouts together. */
function report({ url, log }: Gateway, { route, path }: Asked, error: CorralError): void {
  const name = `${url} ${error.code}`;
  const nowMs = performance.now();
  if (nowMs - (reportedAtMs.get(name) ?? -reportEveryMs) < reportEveryMs) return;
  reportedAtMs.set(name, nowMs);
  log(`corral: ${route.method} ${path} failed and is tried again: ${error.message}`);
}

function outOfPatience(error: CorralError, triedMs: number): CorralError {
  return error.with({ message: `${error.failure.message} (tried for ${Math.round(triedMs / 1000)} s)` });
}

/** What the fleet asks for and up to a quarter more, so that 512 rollouts do not come back in the same moment. */
export function pauseS(tries: number, afterS: number | null, chance: number): number {
  if (afterS !== null) return afterS * (1 + chance / 4);
  return Math.min(longestPauseS, firstPauseS * 2 ** tries) * (0.5 + chance / 2);
}

/** Throws what the signal aborts with. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    if (signal?.aborted === true) stop();
    signal?.addEventListener('abort', stop, { once: true });
  });
}

export function headersOf({ key, run }: Gateway): Record<string, string> {
  const authorization = `Bearer ${key}`;
  return { authorization, 'user-agent': userAgent, ...(run === null ? {} : { 'x-corral-run': run }) };
}

export function urlOf({ url }: Gateway, { path, query = {} }: Pick<Asked, 'path' | 'query'>): string {
  const text = new URLSearchParams(query).toString();
  return text === '' ? `${url}${path}` : `${url}${path}?${text}`;
}

export function toSent(gateway: Gateway, asked: Asked, leftS: number): Sent {
  const holdS = Math.max(1, Math.floor(Math.min(gateway.holdS, leftS)));
  const { route, body = null } = asked;
  const type = typeof body === 'string' ? 'application/json' : 'application/octet-stream';
  const query = { ...asked.query, ...(route.isHeld ? { wait_s: String(holdS) } : {}) };
  return {
    method: route.method,
    url: urlOf(gateway, { path: asked.path, query }),
    headers: { ...headersOf(gateway), ...(body === null ? {} : { 'content-type': type }) },
    body,
    silentS: route.isHeld ? holdS + overdueS : (asked.silentS ?? promptS),
    mostBytes: asked.mostBytes ?? null,
    signal: asked.signal ?? null,
  };
}

/** From now on another server's answer at this address is an accident on the way. */
export const markMet = ({ url }: Gateway): void => void met.add(url);

export function judge(gateway: Gateway, asked: Asked, tries: number, answer: Answer | Broken): Judged {
  if ('reason' in answer) return ofBroken(gateway, asked, answer);
  try {
    const judged = ofCorral(asked, tries, answer);
    met.add(gateway.url);
    return judged;
  } catch (error) {
    if (error instanceof NotCorral) return ofStranger(gateway, answer, error.message);
    throw error;
  }
}

function ofCorral(asked: Asked, tries: number, answer: Answer): Judged {
  const { route } = asked;
  if ([200, 201, 202].includes(answer.status)) {
    const isBytes = route.method === 'GET' && route.purpose === 'file';
    return { reply: { status: answer.status, body: isBytes ? {} : objectIn(answer), answer } };
  }
  return ofFailure(asked, tries, readFailure(objectIn(answer)), retryAfterS(answer));
}

/** What a failure of the fleet means for this request. */
export function ofFailure(
  { route, isNewId = false }: Asked,
  tries: number,
  failure: Failure,
  afterS: number | null = null,
): Exclude<Judged, { readonly reply: Reply }> {
  if (
    route.isNew === true &&
    failure.code === 'invalid_request' &&
    Object.keys(failure.evidence).length === 0
  )
    return { again: ofOlderGateway(failure) };
  const error = toError(failure, route.purpose, { wasSentBefore: tries > 0, isNewId });
  return failure.retryable && !failure.tainted ? { again: { error, retryAfterS: afterS } } : { error };
}

/** In an upgrade some gateways have a newer route already, as the one that accepted the command. The next try may reach it. */
function ofOlderGateway({ message }: Failure): Again {
  const error = unreachable(`a gateway of an older release answered: ${message}`, 'unknown');
  return { error, retryAfterS: null };
}

function objectIn({ content }: Answer): Json {
  const body = parsed(new TextDecoder().decode(content));
  if (isObject(body)) return body;
  throw new NotCorral('the body is not a JSON object');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}

/** The time of a request was over before it could begin with what was asked. */
export function ofLateRequest(): Again {
  const unclear = { admitted: 'unknown', retryable: true } as const;
  const late = ownFailure('still_running', 'the time of the request was over', 'infrastructure', unclear);
  return { error: new Unavailable(late), retryAfterS: null };
}

export function ofBroken(
  { url }: Gateway,
  { route }: Asked,
  { reason, wasSent, isOwn }: Broken,
): Exclude<Judged, { readonly reply: Reply }> {
  const message = `${route.method} ${url}: ${reason}`;
  if (isOwn) return { error: new Misuse(ownFailure('invalid_request', message, 'caller')) };
  const mayRun = wasSent && ['act', 'attach', 'file'].includes(route.purpose);
  return { again: { error: unreachable(message, mayRun ? 'unknown' : 'no'), retryAfterS: null } };
}

/** Another server answered in the gateway's place. Before the gateway has ever answered, the address is wrong. */
function ofStranger({ url }: Gateway, answer: Answer, what: string): Judged {
  const shown = JSON.stringify(new TextDecoder().decode(answer.content.subarray(0, 120)));
  const message = `${url} answered ${answer.status}, and not as Corral does (${what}): ${shown}`;
  const isFinal = answer.status < 500 && ![408, 425, 429].includes(answer.status) && !met.has(url);
  if (isFinal) return { error: new Misuse(ownFailure('not_corral', message, 'caller')) };
  return { again: { error: unreachable(message, 'unknown'), retryAfterS: retryAfterS(answer) } };
}

const unreachable = (message: string, admitted: 'no' | 'unknown') =>
  new Unavailable(
    ownFailure('gateway_unreachable', message, 'infrastructure', { admitted, retryable: true }),
  );
