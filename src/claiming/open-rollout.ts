import type { ItemKey, RolloutId } from '../model/ids.ts';
import type { RolloutTags } from '../model/rollout.ts';
import type { Item } from '../model/grader.ts';
import type { ClaimStore } from '../ports/fleet/claims.ts';
import type { RolloutRecord } from '../ports/fleet/records.ts';
import { exposedItem } from '../tools/exposed-item.ts';
import { type RetryDeps, retrying } from '../waiting/retries.ts';
import { retryPolicies } from '../waiting/retry-policies.ts';
import { type ResolveDeps, type Caller, ownerOf } from './resolve-rollout.ts';
import { openingClaim } from './claim-request.ts';
import type { EnvironmentReference } from './pinned-environments.ts';
import { refusal } from './refusal.ts';

export type OpenDeps = ResolveDeps &
  RetryDeps & {
    readonly claims: Pick<ClaimStore, 'claim' | 'find'>;
  };

export type Open = {
  readonly rollout: RolloutId;
  readonly attempt: number;
  readonly environment: EnvironmentReference;
  readonly item: Item | null;
  /** Stands for the item's own key; null: the item says which group it is of. */
  readonly group: ItemKey | null;
  readonly tags: RolloutTags;
};

export type Opened = {
  readonly rollout: RolloutRecord;
  /** False for a repeat. */
  readonly created: boolean;
  /** Rollouts before it in line; null when it has a sandbox. */
  readonly ahead: number | null;
};

/**
 * Opens a rollout without waiting for its sandbox: a warm one is granted at once, else it has its place in line from
 * now on. Idempotent. Throws `unknown_environment`, `item_missing`, and the claim's own code when it is refused.
 */
export async function openRollout(deps: OpenDeps, caller: Caller, open: Open): Promise<Opened> {
  const owner = ownerOf(caller, open.rollout, open.attempt);
  const environment = await deps.environments.forRun(caller.tenant, caller.run, open.environment);
  // A row that lacks what the environment exposes is refused before anything is claimed for it.
  exposedItem(environment, open.item);
  const ofItem = openingClaim(owner, caller.face, environment, open.item, deps.canonical);
  const claim = { ...ofItem, itemKey: open.group ?? ofItem.itemKey, tags: open.tags };
  return retrying(deps, retryPolicies.opening, async () => {
    const before = await deps.claims.find(owner, owner.attempt);
    const reply = await deps.claims.claim(claim);
    if (reply.kind === 'refused') throw refusal(reply.code, reply.rollout);
    return {
      rollout: reply.rollout,
      created: before === null,
      ahead: reply.kind === 'waiting' ? reply.ahead : null,
    };
  });
}
