import { createHash } from 'node:crypto';
import { chooseAgain, type ChosenTemplate, chooseTemplate } from '../environments/choose-template.ts';
import { Failure } from '../failure/failure.ts';
import type { Environment } from '../model/environment.ts';
import type { Face } from '../model/face.ts';
import type { Item, Json } from '../model/grader.ts';
import { fieldsRead, reservedField } from '../model/grader-leaves.ts';
import { itemKey, type ItemKey } from '../model/ids.ts';
import type { Requirements } from '../model/requirements.ts';
import { noTags, type Owner } from '../model/rollout.ts';
import type { TemplateChoice } from '../model/template-choice.ts';
import type { ClaimRequest } from '../ports/fleet/claims.ts';
import type { RolloutRecord } from '../ports/fleet/records.ts';
import { demandedAmounts, keepDemands } from './kept-demands.ts';

/** JSON with sorted keys, so that equal rows are equal texts. */
export type Canonical = (value: unknown) => string;

/** The claim of a rollout that a request opens. Throws what choosing its template throws. */
export function openingClaim(
  owner: Owner,
  face: Face,
  environment: Environment,
  item: Item | null,
  canonical: Canonical,
  requirements: Requirements | null = null,
): ClaimRequest {
  const chosen = chooseTemplate(environment, item, requirements?.amounts);
  return {
    owner,
    face,
    ...ofEnvironment(environment),
    template: chosen.template.digest,
    ...choiceOf(chosen),
    itemKey: itemKeyOf(item, canonical),
    itemDigest: itemDigestOf(environment, item, canonical),
    tags: noTags,
    needs: keepDemands(requirements?.sandbox ?? null, chosen.amounts),
    item: item === null ? null : canonical(item),
  };
}

/**
 * The claim of a rollout that is already open: in the template that it was opened with, whatever is allowed now. `row`: its
 * dataset row, where that made the template; null where it is gone or did not, and controllers know the template without it.
 */
export function repeatedClaim(
  rollout: RolloutRecord,
  environment: Environment,
  row: Item | null,
): ClaimRequest {
  return {
    owner: rollout.owner,
    face: rollout.face,
    ...ofEnvironment(environment),
    template: rollout.template,
    ...choiceAgain(rollout, environment, row),
    itemKey: rollout.itemKey,
    itemDigest: rollout.itemDigest,
    tags: rollout.tags,
    needs: rollout.needs,
    item: null,
  };
}

function ofEnvironment(environment: Environment) {
  return {
    environment: environment.name,
    version: environment.version,
    idleMs: environment.limits.idleMs,
    hardLifeMs: environment.limits.hardLifeMs,
  };
}

/** What controllers need to make the template; nothing if they have it from the environment. */
export const choiceOf = ({ choice }: Pick<ChosenTemplate, 'choice'>): { readonly chosen?: TemplateChoice } =>
  choice === null ? {} : { chosen: choice };

function choiceAgain(
  { template, needs }: RolloutRecord,
  environment: Environment,
  row: Item | null,
): { readonly chosen?: TemplateChoice } {
  try {
    const again = chooseAgain(environment, row, demandedAmounts(needs));
    return again?.template.digest === template ? choiceOf(again) : {};
  } catch (thrown) {
    if (thrown instanceof Failure) return {};
    throw thrown;
  }
}

/** Which task: the row's own `id` if it has one, else a hash of the row; rollouts without a row share one group. */
export function itemKeyOf(item: Item | null, canonical: Canonical): ItemKey {
  if (item === null) return itemKey('none');
  const id = item['id'];
  if (typeof id === 'string' || typeof id === 'number') return itemKey(String(id).slice(0, 200));
  return itemKey(createHash('sha256').update(canonical(item)).digest('hex').slice(0, 32));
}

/** Raised when {@link fieldsRead} or the text below changes: digests of different formats are not compared. */
const digestFormat = 1;

/**
 * Which row, for {@link isOtherItem}: `format:fields:id`, a digest of the fields that the environment reads, and one of the row's `id` or
 * nothing. Null without a row.
 */
export function itemDigestOf(
  environment: Parameters<typeof fieldsRead>[0],
  item: Item | null,
  canonical: Canonical,
): string | null {
  if (item === null) return null;
  const { id, ...rest } = item;
  const fields = fieldsRead(environment);
  const isRead = ([name]: readonly [string, Json]) =>
    name !== reservedField && (fields === 'all' || fields.includes(name));
  const read = Object.fromEntries(Object.entries(rest).filter(isRead));
  const digest = (value: Json) => createHash('sha256').update(canonical(value)).digest('hex').slice(0, 16);
  return [digestFormat, digest(read), id === undefined ? '' : digest(id)].join(':');
}

/** Whether two digests are of different rows. A row without an `id` may be any with the same fields; `isOtherItem` of claim.lua says the same. */
export function isOtherItem(one: string | null, other: string | null): boolean {
  const [format, fields, id] = one?.split(':') ?? [];
  const [otherFormat, otherFields, otherId] = other?.split(':') ?? [];
  if (one === null || other === null || format !== otherFormat) return false;
  return fields !== otherFields || (id !== '' && otherId !== '' && id !== otherId);
}
