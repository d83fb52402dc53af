import {
  type Brand,
  type BootId,
  rolloutId,
  type RolloutId,
  runId,
  type RunId,
  type SandboxId,
  tenantId,
  type TenantId,
} from './ids.ts';

/**
 * What a sandbox of a rollout is for: the policy's work, or a grader that shall be where the policy never was. A grader's is
 * held by a record of its own beside the rollout's, which is never more than `claimed`: nothing is lost with that sandbox.
 */
export const roles = ['policy', 'grader'] as const;
export type Role = (typeof roles)[number];

/** Whom a sandbox works for. A sandbox accepts one owner in its life. */
export type Owner = {
  readonly tenant: TenantId;
  readonly run: RunId;
  readonly rollout: RolloutId;
  readonly attempt: number;
  readonly role: Role;
};

/** The owner as one text, `tenant/run/rollout/attempt/role`, each part percent-encoded. */
export type RolloutKey = Brand<string, 'RolloutKey'>;

export function rolloutKey(owner: Owner): RolloutKey {
  const parts = [owner.tenant, owner.run, owner.rollout, String(owner.attempt), owner.role];
  return parts.map(encodeURIComponent).join('/') as RolloutKey;
}

/** The inverse of {@link rolloutKey}. Throws a RangeError on text that is no such key. */
export function ownerOf(key: RolloutKey): Owner {
  const [tenant, run, rollout, attempt, told, ...rest] = key.split('/').map(decodeURIComponent);
  const role = roleOf(told);
  if (
    tenant === undefined ||
    run === undefined ||
    rollout === undefined ||
    role === undefined ||
    rest.length > 0
  ) {
    throw new RangeError(`not a rollout key: ${key}`);
  }
  return {
    tenant: tenantId(tenant),
    run: runId(run),
    rollout: rolloutId(rollout),
    attempt: Number(attempt),
    role,
  };
}

/** Undefined for a word that is none. */
export const roleOf = (text: string | undefined): Role | undefined => roles.find((role) => role === text);

/** Its record that holds a grader's sandbox. */
export const graderKey = (key: RolloutKey): RolloutKey => rolloutKey({ ...ownerOf(key), role: 'grader' });

/** Which incarnation of a sandbox answered. */
export type Epoch = { readonly sandbox: SandboxId; readonly boot: BootId };

/**
 * A rollout's life:
 *
 *   waiting   in the line of its template; has a place, no sandbox
 *   claimed   a sandbox is granted, its bind is not yet confirmed; a failed bind swaps it silently
 *   active    the sandbox has accepted it; calls may be dispatched
 *   grading   no new call ids; dispatched calls are awaited, then the grader runs
 *   closed    finished, deleted or scored; the sandbox is on its way out
 *   expired   nobody called it until its lease ran out
 */
export type RolloutState = 'waiting' | 'claimed' | 'active' | 'grading' | 'closed' | 'expired';

/**
 * What a rollout has come to. `broken`: the policy broke its own sandbox, and there is no score yet. The table of what changes it
 * is in adapters/redis/scripts/lib/verdict.lua.
 */
export type RolloutVerdict = 'open' | 'broken' | 'scored' | 'discarded';

/** Nothing runs for it any more. */
export const isOver = (state: RolloutState): boolean => state === 'closed' || state === 'expired';

/** What a trainer writes on a rollout for its own books; nothing here is decided by it. */
export type RolloutTags = { readonly step: number | null; readonly labels: readonly string[] };
export const noTags: RolloutTags = { step: null, labels: [] };

/** Where sandboxd of a sandbox listens: `unix:/path` or `http://host:port`. */
export type SandboxAddress = Brand<string, 'SandboxAddress'>;
export const sandboxAddress = (text: string): SandboxAddress => text as SandboxAddress;
