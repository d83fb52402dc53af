import type { RunId, TenantId } from '../model/ids.ts';

/**
 * What a key may be used for. `admin` includes the others, inside its own tenant; `fleet`, which it does not include, is to
 * see all tenants' runs in the waiting line, and to do nothing.
 */
export const scopes = ['rft:tools', 'rft:grade', 'native', 'admin', 'fleet'] as const;
export type Scope = (typeof scopes)[number];

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
