import { type Evidence, Failure } from '../failure/failure.ts';
import { type ApiKey, type Grant, type Scope, sha256Of } from './keys.ts';
import type { RefusedFor } from '../ports/event-log.ts';
import { timingSafeEqual } from 'node:crypto';
import { runId, tenantId } from '../model/ids.ts';

export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

export type Credentials = { readonly presented: string | null; readonly origin: Origin };

/** The key of a request: `Authorization: Bearer …`, else `X-Api-Key`. */
export function credentialsOf(headers: Headers, remoteAddress: string): Credentials {
  const bearer = /^bearer +(\S+) *$/i.exec(textOf(headers['authorization']));
  const plain = textOf(headers['x-api-key']).trim();
  return {
    presented: bearer?.[1] ?? (plain === '' ? null : plain),
    origin: {
      remoteAddress,
      forwarded: headers['forwarded'] !== undefined || headers['x-forwarded-for'] !== undefined,
    },
  };
}

export type KnownKeys = {
  readonly keys: readonly ApiKey[];
  readonly developmentKey: string | null;
  readonly nowMs: number;
};

/**
 * What the bearer may do here, where one of `scopes` is enough. Throws `Failure('unauthorized')` that says what is missing,
 * never what would be right.
 */
export function authorise(credentials: Credentials, scopes: readonly Scope[], known: KnownKeys): Grant {
  return withScope(grantOf(credentials, known), scopes);
}

/**
 * The same of a key that was shown before, by its id: what was given out for it is good for as long as the key itself is, and
 * from where it would be taken.
 */
export function authoriseAgain(
  keyId: string,
  origin: Origin,
  scopes: readonly Scope[],
  known: KnownKeys,
): Grant {
  const { developmentKey } = known;
  if (keyId === developmentGrant.keyId && developmentKey !== null) {
    if (isDevelopmentKey(developmentKey, developmentKey, origin)) return withScope(developmentGrant, scopes);
  }
  const key = known.keys.find(({ id }) => id === keyId);
  if (key === undefined) throw unknownKey();
  if (hasExpired(key, known.nowMs)) throw expiredKey(key);
  return withScope({ ...key, keyId }, scopes);
}

function withScope(grant: Grant, scopes: readonly Scope[]): Grant {
  if (grant.scopes.some((scope) => scope === 'admin' || scopes.includes(scope))) return grant;
  const wanted = scopes.join(' or ');
  throw new Failure(
    'unauthorized',
    `the API key "${grant.keyId}" has no scope ${wanted}; give it the scope in the key file, or use another key`,
    refusedFor('no_scope', { key: grant.keyId, scope: wanted }),
  );
}

function grantOf({ presented, origin }: Credentials, known: KnownKeys): Grant {
  if (presented === null) {
    throw new Failure(
      'unauthorized',
      'no API key; send the header "Authorization: Bearer <key>"',
      refusedFor('no_key'),
    );
  }
  if (isDevelopmentKey(presented, known.developmentKey, origin)) return developmentGrant;
  const verified = verifyKey(presented, known.keys, known.nowMs);
  if (verified.kind === 'valid') return { ...verified.key, keyId: verified.key.id };
  if (verified.kind === 'expired') throw expiredKey(verified.key);
  throw unknownKey();
}

const expiredKey = ({ id }: ApiKey) =>
  new Failure(
    'unauthorized',
    `the API key "${id}" has expired; create a new one`,
    refusedFor('expired_key', { key: id }),
  );

export const unknownKey = () =>
  new Failure(
    'unauthorized',
    'this API key is not known here; check the header, or create a key with "corral keys create"',
    refusedFor('unknown_key'),
  );

const refusedFor = (reason: RefusedFor, known: Evidence = {}) => ({ evidence: { reason, ...known } });

/** The same for the event log, where `authorise` threw it; null: it is another failure. */
export function refusalOf(
  thrown: unknown,
): { readonly reason: RefusedFor; readonly keyId: string | null } | null {
  if (!(thrown instanceof Failure) || thrown.code !== 'unauthorized') return null;
  const { reason, key = null } = thrown.evidence;
  return { reason: reason as RefusedFor, keyId: key === null ? null : String(key) };
}

function textOf(header: Headers[string]): string {
  if (header === undefined) return '';
  return typeof header === 'string' ? header : (header[0] ?? '');
}

/** What the development key of one machine allows: everything in a tenant of its own, and to see the whole fleet. */
const developmentGrant: Grant = {
  keyId: 'development',
  tenant: tenantId('development'),
  scopes: ['admin', 'fleet'],
  defaultRun: runId('development'),
};

/** Where a request came from. `forwarded`: it carries the mark of a proxy, so the address is the proxy's. */
export type Origin = { readonly remoteAddress: string; readonly forwarded: boolean };

/** Whether the text is the configured development key and comes from this very machine. */
function isDevelopmentKey(presented: string, configured: string | null, origin: Origin): boolean {
  if (configured === null || origin.forwarded || !isLoopback(origin.remoteAddress)) return false;
  return timingSafeEqual(sha256Of(presented), sha256Of(configured));
}

export function isLoopback(address: string): boolean {
  const plain = address.startsWith('::ffff:') ? address.slice('::ffff:'.length) : address;
  return plain === '::1' || /^127(\.\d{1,3}){3}$/.test(plain);
}

type Verification =
  | { readonly kind: 'valid'; readonly key: ApiKey }
  | { readonly kind: 'expired'; readonly key: ApiKey }
  | { readonly kind: 'unknown' };

/** Whose key was presented. Hashes are compared, in constant time: how near a guess comes is never told. */
export function verifyKey(presented: string, keys: readonly ApiKey[], nowMs: number): Verification {
  const digest = sha256Of(presented);
  const key = keys.find(({ sha256 }) => timingSafeEqual(Buffer.from(sha256, 'hex'), digest));
  if (key === undefined) return { kind: 'unknown' };
  return { kind: hasExpired(key, nowMs) ? 'expired' : 'valid', key };
}

function hasExpired({ expiresAtMs }: ApiKey, nowMs: number): boolean {
  return expiresAtMs !== null && nowMs >= expiresAtMs;
}
