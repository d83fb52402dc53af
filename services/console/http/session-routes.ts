import type { FastifyReply, FastifyRequest } from 'fastify';
import { Failure } from '#src/failure/failure.ts';
import type { Clock } from '#src/ports/clock.ts';
import type { Log } from '#src/ports/log.ts';
import { thisProcess } from '#src/platform/this-process.ts';
import { LoginBody, SessionAnswer } from '#src/protocol/console/session.ts';
import type { FirstLogin } from '../config.ts';
import type { Origin, Session, Sessions } from '../sessions.ts';
import { type App, TooManyTries } from './app.ts';

export type SessionRoutesDeps = {
  readonly sessions: Sessions;
  readonly cookie: SessionCookie;
  readonly firstLogin: FirstLogin | null;
  readonly clock: Clock;
  readonly log: Log;
};

/** `name` has the port, because cookies of one host reach every port of it. */
export type SessionCookie = { readonly name: string; readonly isSecure: boolean };

export const sessionCookie = (origins: readonly URL[], port: number): SessionCookie =>
  origins.length > 0 && origins.every(({ protocol }) => protocol === 'https:')
    ? { name: '__Host-corral', isSecure: true }
    : { name: `corral-${port}`, isSecure: false };

export const originOf = ({ headers, socket }: FastifyRequest): Origin => ({
  remoteAddress: socket.remoteAddress ?? '',
  forwarded: headers['forwarded'] !== undefined || headers['x-forwarded-for'] !== undefined,
});

/** The value of one cookie. */
export function cookieIn({ headers }: FastifyRequest, name: string): string | undefined {
  const pairs = (headers.cookie ?? '').split(';').map((pair) => pair.trim());
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1);
}

/** Log in, log out, and who is logged in. */
export function sessionRoutes(app: App, deps: SessionRoutesDeps): void {
  const { sessions, cookie } = deps;
  const refusals = new Refusals(deps.clock);
  const keyOf = keyReader(deps);
  app.post(
    '/session',
    { schema: { body: LoginBody, response: { 200: SessionAnswer } } },
    async (request, reply) => {
      const from = originOf(request);
      refusals.requireFew(from.remoteAddress);
      try {
        const { token, session } = await sessions.open(keyOf(request.body, from), from);
        setCookie(reply, cookie, token);
        return sessionAnswer(session);
      } catch (thrown) {
        refusals.note(from.remoteAddress);
        deps.log.warn('log-in refused', { from: from.remoteAddress });
        throw thrown;
      }
    },
  );
  app.delete('/session', async (request, reply) => {
    sessions.end(cookieIn(request, cookie.name));
    setCookie(reply, cookie, '', 0);
    return reply.code(204).send();
  });
  app.get('/api/session', { schema: { response: { 200: SessionAnswer } } }, async (request) =>
    sessionAnswer(await sessions.find(cookieIn(request, cookie.name), originOf(request))),
  );
}

const sessionAnswer = ({ grant }: Session): SessionAnswer => ({
  ...grant,
  scopes: [...grant.scopes],
  version: thisProcess.version,
});

function setCookie(reply: FastifyReply, { name, isSecure }: SessionCookie, value: string, maxAge?: number) {
  const parts = [`${name}=${value}`, 'Path=/', 'HttpOnly', 'SameSite=Strict'];
  if (isSecure) parts.push('Secure');
  if (maxAge !== undefined) parts.push(`Max-Age=${maxAge}`);
  void reply.header('set-cookie', parts.join('; '));
}

/** The key that a person typed, or the one that a code stands for: once, for a short time, and from this machine. */
function keyReader({ firstLogin, clock }: SessionRoutesDeps) {
  let code = firstLogin;
  return (body: LoginBody, { forwarded }: Origin): string => {
    if ('key' in body) return body.key;
    const given = code;
    if (given === null || forwarded || body.code !== given.code || clock.nowMs() > given.untilMs)
      throw new Failure('unauthorized', 'this link was used already or is too old; log in with a key');
    code = null;
    return given.key;
  };
}

const minuteMs = 60_000;
const mostRefusals = 5;
const mostAddresses = 10_000;

/** Bounds guesses: an address whose log-ins were refused waits until a minute has passed. */
class Refusals {
  readonly #clock: Clock;
  readonly #times = new Map<string, readonly number[]>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  requireFew(address: string): void {
    if (this.#lately(address).length >= mostRefusals)
      throw new TooManyTries('too many log-ins from this address were refused; try again in a minute');
  }

  note(address: string): void {
    if (this.#times.size >= mostAddresses) this.#times.clear();
    this.#times.set(address, [...this.#lately(address), this.#clock.monotonicMs()]);
  }

  #lately(address: string): readonly number[] {
    const sinceMs = this.#clock.monotonicMs() - minuteMs;
    return (this.#times.get(address) ?? []).filter((atMs) => atMs > sinceMs);
  }
}
