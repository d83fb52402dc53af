import { type RunId, type TenantId, isKeyId } from '../model/ids.ts';
import { createHash } from 'node:crypto';
import type { Random } from '../ports/random.ts';

/**
 * What a key may be used for. `admin` includes the others, inside its own tenant; `fleet`, which it does not include, is to
 * see all tenants' runs in the waiting line, and to do nothing. `watch` reads runs, rollouts and their events, and changes
 * nothing. `truth` adds to what a key may read why a rollout has its score; it opens no route by itself.
 */
export const scopes = ['rft:tools', 'rft:grade', 'native', 'watch', 'truth', 'admin', 'fleet'] as const;
export type Scope = (typeof scopes)[number];

/** Whether the bearer may read what holds the truth of dataset rows. */
export const readsTruth = (granted: readonly Scope[]): boolean =>
  granted.some((scope) => scope === 'truth' || scope === 'admin');

/** An API key as kept: never the secret, only its SHA-256, so that a stolen file opens nothing. */
export type ApiKey = {
  readonly id: string;
  /** sha256 (hex) of the whole presented text, `corral_<id>_<secret>`. */
  readonly sha256: string;
  readonly tenant: TenantId;
  readonly scopes: readonly Scope[];
  /** The run of requests that name none. */
  readonly defaultRun: RunId | null;
  readonly expiresAtMs: number | null;
};

/** What a verified key lets its bearer do. */
export type Grant = {
  readonly keyId: string;
  readonly tenant: TenantId;
  readonly scopes: readonly Scope[];
  readonly defaultRun: RunId | null;
};

export function isScope(text: string): text is Scope {
  return scopes.some((scope) => scope === text);
}

/** 40 characters of 36 are 206 bits: not guessable, also offline against a stolen file of hashes. */
const secretLength = 40;

/**
 * A new key and the text to present, `corral_<id>_<secret>`; the text exists only in this answer. Throws a RangeError
 * for an id that is not lower-case letters, digits and dashes.
 */
export function createKey(
  description: Omit<ApiKey, 'sha256'>,
  random: Random,
): { readonly key: ApiKey; readonly presented: string } {
  if (!isKeyId(description.id)) {
    throw new RangeError(`key id "${description.id}": use 1 to 40 lower-case letters, digits and dashes`);
  }
  const presented = `corral_${description.id}_${random.text(secretLength)}`;
  return { key: { ...description, sha256: sha256Of(presented).toString('hex') }, presented };
}

export function sha256Of(presented: string): Buffer {
  return createHash('sha256').update(presented).digest();
}
