import { createHash } from 'node:crypto';
import type { Environment } from '../model/environment.ts';
import type { Face } from '../model/face.ts';
import type { Item } from '../model/grader.ts';
import { itemKey } from '../model/ids.ts';
import type { ItemKey } from '../model/ids.ts';
import { noTags } from '../model/rollout.ts';
import type { Owner } from '../model/rollout.ts';
import type { ClaimRequest } from '../ports/fleet/claims.ts';
import type { RolloutRecord } from '../ports/fleet/records.ts';

/** JSON with sorted keys, so that equal rows are equal texts. */
export type Canonical = (value: unknown) => string;

/** The claim of a rollout that a request opens. */
export function openingClaim(
  owner: Owner,
  face: Face,
  environment: Environment,
  item: Item | null,
  canonical: Canonical,
): ClaimRequest {
  return {
    owner,
    face,
    ...ofEnvironment(environment),
    itemKey: itemKeyOf(item, canonical),
    tags: noTags,
    item: item === null ? null : canonical(item),
  };
}

/** The claim of a rollout that is already open. */
export function repeatedClaim(rollout: RolloutRecord, environment: Environment): ClaimRequest {
  return {
    owner: rollout.owner,
    face: rollout.face,
    ...ofEnvironment(environment),
    itemKey: rollout.itemKey,
    tags: rollout.tags,
    item: null,
  };
}

function ofEnvironment(environment: Environment) {
  return {
    environment: environment.name,
    version: environment.version,
    template: environment.template.digest,
    idleMs: environment.limits.idleMs,
    hardLifeMs: environment.limits.hardLifeMs,
  };
}

/** Which task: the row's own `id` if it has one, else a hash of the row; rollouts without a row share one group. */
export function itemKeyOf(item: Item | null, canonical: Canonical): ItemKey {
  if (item === null) return itemKey('none');
  const id = item['id'];
  if (typeof id === 'string' || typeof id === 'number') return itemKey(String(id).slice(0, 200));
  return itemKey(createHash('sha256').update(canonical(item)).digest('hex').slice(0, 32));
}
