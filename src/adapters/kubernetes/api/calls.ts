import type { Dispatcher } from 'undici';
import { Failure } from '#src/failure/failure.ts';
import type { Clock } from '#src/ports/clock.ts';
import type { Random } from '#src/ports/random.ts';
import type { Answer } from './answer.ts';
import type { Connections } from './connections.ts';
import type { Credentials } from './credentials.ts';

export type Verb = 'create' | 'delete' | 'get' | 'list' | 'patch' | 'watch';

/** One call as it ended; `code` is the HTTP status, or the word for an ending without one. */
export type CallMeasure = {
  readonly verb: Verb;
  readonly resource: string;
  readonly code: number | 'broken' | 'timeout';
  readonly durationMs: number;
};

export type ApiCall = {
  readonly verb: Exclude<Verb, 'watch'>;
  /** `pods`, `nodes`, …: what is counted. */
  readonly resource: string;
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: object;
};

export type ApiOptions = {
  readonly credentials: Credentials;
  readonly connections: Connections;
  readonly clock: Clock;
  readonly random: Random;
  readonly onCall: (measure: CallMeasure) => void;
};

/** Calls of the Kubernetes API that end: answered with whatever status is final, or `provider_unavailable`. */
export type Api = { call(call: ApiCall): Promise<Answer> };

/** A call may wait for its turn, for a busy server and for one repeat, but its caller has better things to do. */
const deadlineMs = 15_000;

/** As many as two HTTP/2 connections carry at once; more would only wait inside them, unseen. */
const mostInFlight = 200;
/** Ten bursts' worth: whoever comes then is told to come later. */
const mostQueued = 5_000;

/** Where a busy server (429, 503) does not say how long to wait. */
const busyPauseMs = 1_000;

const methods = {
  create: 'POST',
  delete: 'DELETE',
  get: 'GET',
  list: 'GET',
  patch: 'PATCH',
} as const satisfies Record<ApiCall['verb'], Dispatcher.HttpMethod>;

/**
 * What is tried again inside, until the deadline:
 *
 *   429, 503    after `Retry-After`. All calls pause: it is our flow that is too much, not the one call
 *   broken      once, at once: a kept connection may be closed just as it is used. Objects are named and removals carry
 *               a uid, so a call that had arrived is answered "already there" or "not there any more"
 *   401         once, with credentials read again
 */
export function createApi(options: ApiOptions): Api {
  const { clock, random } = options;
  const inFlight = createInFlight(mostInFlight, mostQueued);
  let pausedUntilMs = 0;

  const untilResumed = async (limitMs: number, what: string) => {
    const nowMs = clock.monotonicMs();
    if (pausedUntilMs <= nowMs) return;
    if (pausedUntilMs >= limitMs) throw busy(what, pausedUntilMs - nowMs);
    // Spread, so that what was held does not come back as one burst.
    await clock.sleep((pausedUntilMs - nowMs) * (1 + random.next() / 4));
  };

  const call = async (asked: ApiCall): Promise<Answer> => {
    const limitMs = clock.monotonicMs() + deadlineMs;
    let mayRepeat = true;
    for (;;) {
      const result = await inFlight(async () => {
        await untilResumed(limitMs, nameOf(asked));
        return attempt(options, asked, limitMs);
      });
      if (result.kind === 'broken') {
        if (!mayRepeat || clock.monotonicMs() >= limitMs) throw unreachable(options, asked, result.error);
        mayRepeat = false;
      } else if (result.status === 401 && mayRepeat) {
        mayRepeat = false;
        options.credentials.forget();
      } else if (isBusy(result.status)) {
        pausedUntilMs = Math.max(pausedUntilMs, clock.monotonicMs() + (result.retryAfterMs ?? busyPauseMs));
      } else {
        return result;
      }
    }
  };
  return { call };
}

type Attempt =
  | (Answer & { readonly kind: 'answered'; readonly retryAfterMs: number | null })
  | { readonly kind: 'broken'; readonly error: unknown };

async function attempt(options: ApiOptions, call: ApiCall, limitMs: number): Promise<Attempt> {
  const { clock, onCall } = options;
  const beganMs = clock.monotonicMs();
  const { verb, resource } = call;
  const measured = (code: CallMeasure['code']) =>
    onCall({ verb, resource, code, durationMs: clock.monotonicMs() - beganMs });
  const inTime = AbortSignal.timeout(Math.ceil(Math.max(1, limitMs - beganMs)));
  try {
    const answer = await send(options, call, inTime);
    measured(answer.status);
    return answer;
  } catch (error) {
    measured(inTime.aborted ? 'timeout' : 'broken');
    return { kind: 'broken', error };
  }
}

async function send({ credentials, connections }: ApiOptions, call: ApiCall, signal: AbortSignal) {
  const { tls, headers } = await credentials.current();
  const {
    statusCode,
    headers: answered,
    body,
  } = await connections.forCalls(tls).request({
    method: methods[call.verb],
    path: pathOf(credentials.server, call.path, call.query),
    headers: { ...headers, accept: 'application/json', ...contentType(call) },
    signal,
    ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
  });
  const value = parseJson(await body.text());
  const retryAfterMs = secondsIn(answered['retry-after']);
  return { kind: 'answered', status: statusCode, value, retryAfterMs } as const;
}

/** The path as the server wants it, also where it lives under a path of its own. */
export function pathOf(server: string, path: string, query: Readonly<Record<string, string>> = {}): string {
  const prefix = new URL(server).pathname.replace(/\/$/, '');
  const search = new URLSearchParams(query).toString();
  return `${prefix}${path}${search === '' ? '' : `?${search}`}`;
}

function contentType({ verb, body }: ApiCall): Record<string, string> {
  if (body === undefined) return {};
  return { 'content-type': verb === 'patch' ? 'application/merge-patch+json' : 'application/json' };
}

// The API server sends seconds, never a date.
function secondsIn(header: string | string[] | undefined): number | null {
  return typeof header === 'string' && /^\d+$/.test(header) ? Number(header) * 1000 : null;
}

/** Undefined for what is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const isBusy = (status: number) => status === 429 || status === 503;
const nameOf = ({ verb, resource }: ApiCall) => `${verb} ${resource}`;

function busy(what: string, pauseMs: number): Failure {
  return new Failure('provider_unavailable', `the Kubernetes API is too busy to ${what}`, {
    retryAfterMs: pauseMs,
    evidence: { pauseMs: Math.round(pauseMs) },
  });
}

function unreachable({ credentials }: ApiOptions, call: ApiCall, error: unknown): Failure {
  const detail = error instanceof Error ? error.message : String(error);
  return new Failure(
    'provider_unavailable',
    `the Kubernetes API at ${credentials.server} did not answer (${nameOf(call)}): ${detail}`,
    { cause: error, retryAfterMs: busyPauseMs, evidence: { server: credentials.server, detail } },
  );
}

/** Lets at most `most` pieces of work run at once; the others wait in their order, at most `queued` of them. */
type InFlight = <Result>(work: () => Promise<Result>) => Promise<Result>;

function createInFlight(most: number, queued: number): InFlight {
  const waiting: (() => void)[] = [];
  let running = 0;

  const enter = async () => {
    if (running < most) {
      running += 1;
      return;
    }
    if (waiting.length >= queued) throw tooMany(waiting.length);
    // The place is handed over by who leaves, so `running` stays as it is.
    await new Promise<void>((resolve) => {
      waiting.push(resolve);
    });
  };
  const leave = () => {
    const next = waiting.shift();
    if (next === undefined) running -= 1;
    else next();
  };

  return async (work) => {
    await enter();
    try {
      return await work();
    } finally {
      leave();
    }
  };
}

function tooMany(count: number): Failure {
  return new Failure('provider_unavailable', `${count} calls already wait for the Kubernetes API`, {
    retryAfterMs: 1000,
    evidence: { waitingCalls: count },
  });
}
