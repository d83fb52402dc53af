import { timingSafeEqual } from 'node:crypto';
import { sha256Of } from './create-key.ts';
import type { ApiKey } from './keys.ts';

export type Verification =
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

export function hasExpired({ expiresAtMs }: ApiKey, nowMs: number): boolean {
  return expiresAtMs !== null && nowMs >= expiresAtMs;
}
