import type { FastifyRequest } from 'fastify';
import { authorise, credentialsOf, refusalOf } from '#src/access/authorise.ts';
import type { KeyRing } from '#src/access/key-file.ts';
import type { Grant, Scope } from '#src/access/keys.ts';
import { Failure } from '#src/failure/failure.ts';
import { idRule, isIdText, runId, type RunId } from '#src/model/ids.ts';
import type { Face } from '#src/model/face.ts';
import type { Clock } from '#src/ports/clock.ts';
import type { FleetEvent } from '#src/ports/event-log.ts';
import { readTraceparent } from '#src/tracing/names.ts';
import type { Caller } from '../core-interface.ts';
import { faceOf, invalid } from './answer-failure.ts';
import { originAddress } from './outer-door.ts';

export type Authentication = {
  readonly keyRing: KeyRing;
  readonly developmentKey: string | null;
  readonly clock: Clock;
  /** Hears of whoever is refused, as an event. */
  readonly record: (event: FleetEvent) => void;
};

/** One of the scopes is enough. */
export type RequireScope = (...scopes: readonly Scope[]) => (request: FastifyRequest) => Promise<void>;

/** A hook for each route: the key is checked before anything of the body is read. */
export function createRequireScope(authentication: Authentication): RequireScope {
  return (...scopes) =>
    (request) => {
      const credentials = credentialsOf(request.headers, originAddress(request.socket));
      const keys = authentication.keyRing.keys();
      const known = {
        keys,
        developmentKey: authentication.developmentKey,
        nowMs: authentication.clock.nowMs(),
      };
      try {
        if (request.state !== null) request.state.grant = authorise(credentials, scopes, known);
      } catch (thrown) {
        recordRefusal(authentication, request, scopes, thrown);
        throw thrown;
      }
      return Promise.resolve();
    };
}

/** Tells of a request that was refused for want of rights; of any other failure nothing. `wanted`: what would have been enough. */
export function recordRefusal(
  { record, clock }: Authentication,
  request: FastifyRequest,
  wanted: readonly (Scope | 'fleet_key')[],
  thrown: unknown,
): void {
  const refusal = refusalOf(thrown);
  if (refusal === null) return;
  record({
    kind: 'request_refused',
    atMs: clock.nowMs(),
    ...refusal,
    scope: wanted.join(' or '),
    face: faceOf(request.raw.url ?? '/'),
    method: request.method,
    route: request.routeOptions.url ?? '',
    from: request.socket.remoteAddress ?? '',
  });
}

/** Who asks, in which run: the one named, else the header X-Corral-Run, else the key's default. */
export function callerOf(request: FastifyRequest, face: Face, named?: string): Caller {
  const grant = grantOf(request);
  const { tenant, keyId } = grant;
  const caller = { face, tenant, run: runOf(request, grant, named), keyId };
  const span = readTraceparent(request.headers['traceparent']);
  return span === null ? caller : { ...caller, span };
}

export function grantOf(request: FastifyRequest): Grant {
  const grant = request.state?.grant;
  // A route that forgot its scope must not be open.
  if (!grant)
    throw new Failure('unauthorized', 'this address asks for no key; that is a fault of the gateway');
  return grant;
}

function runOf(request: FastifyRequest, grant: Grant, named: string | undefined): RunId {
  const header = request.headers['x-corral-run'];
  const text = named ?? (typeof header === 'string' ? header : undefined);
  if (text !== undefined) {
    if (isIdText(text)) return runId(text);
    throw invalid(`the run name must be ${idRule}`);
  }
  if (grant.defaultRun !== null) return grant.defaultRun;
  throw invalid('no run is named; send the header X-Corral-Run, or give the key a default run');
}
