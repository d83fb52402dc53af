import { createHash } from 'node:crypto';
import type { FailureCode } from '../failure/codes.ts';
import { Failure } from '../failure/failure.ts';
import { type Environment, isOpenTemplate } from '../model/environment.ts';
import type { Face } from '../model/face.ts';
import type { Item } from '../model/grader.ts';
import type { RolloutId, RunId, TenantId, ItemKey } from '../model/ids.ts';
import type { Timings } from '../model/timings.ts';
import { isOver, type Owner, rolloutKey, type RolloutKey, type RolloutTags } from '../model/rollout.ts';
import type { ClaimStore, ClaimRequest } from '../ports/fleet/claims.ts';
import type { ControlStore } from '../ports/fleet/controls.ts';
import type { RolloutRecord } from '../ports/fleet/records.ts';
import type { SpanContext } from '../ports/tracer.ts';
import type { Requirements } from '../model/requirements.ts';
import { checkOpenedWith, checkTask } from './check-task.ts';
import { rowIfKept, rowOf } from './dataset-row.ts';
import { exposedItem, type ExposedItem } from '../tools/exposed-item.ts';
import { type Canonical, isOtherItem, itemDigestOf, openingClaim, repeatedClaim } from './claim-request.ts';
import type { EnvironmentReference, PinnedEnvironments } from './pinned-environments.ts';
import { Deadline } from '../waiting/deadline.ts';
import { type RetryDeps, retrying } from '../waiting/retries.ts';
import { retryPolicies } from '../waiting/retry-policies.ts';
import { refusal } from './refusal.ts';

/** Who asks: from the API key and the run header. */
export type Caller = {
  readonly face: Face;
  readonly tenant: TenantId;
  readonly run: RunId;
  /** The key's public id. */
  readonly keyId: string;
  /** The span of its own that it makes the request in, where it says so. */
  readonly span?: SpanContext;
};

/** The rollout a request names; newest attempt when `attempt` is null. */
export type RolloutRef = { readonly rollout: RolloutId; readonly attempt: number | null };

/** What a request that may open its rollout brings along. */
export type Opening = { readonly environment: EnvironmentReference; readonly item: Item | null };

export type ResolveDeps = {
  readonly claims: Pick<ClaimStore, 'find' | 'row'>;
  readonly environments: PinnedEnvironments;
  readonly rolloutCache: RolloutCache;
  readonly canonical: Canonical;
};

/** `known`: fleet state has the rollout, as far as this process can tell, so admission may be asked at once. */
export type ResolvedRollout = CachedRollout & {
  readonly key: RolloutKey;
  readonly known: boolean;
  /** The API key that asks now, for the event log; null: nobody's request. */
  readonly keyId: string | null;
};

/**
 * From what a request says to what can be claimed. Where a first call opens the rollout, from the request; else from
 * the record. Throws `unknown_environment`, `environment_mismatch`, `item_mismatch`, `rollout_unknown`.
 */
export async function resolveRollout(
  deps: ResolveDeps,
  caller: Caller,
  ref: RolloutRef,
  opening: Opening | null,
): Promise<ResolvedRollout> {
  return opening === null ? fromRecord(deps, caller, ref) : fromRequest(deps, caller, ref, opening);
}

async function fromRequest(
  deps: ResolveDeps,
  caller: Caller,
  ref: RolloutRef,
  opening: Opening,
): Promise<ResolvedRollout> {
  const owner = ownerOf(caller, ref.rollout, ref.attempt ?? 1);
  const key = rolloutKey(owner);
  const remembered = deps.rolloutCache.get(key);
  const rowHash = rowHashOf(opening.item);
  // A row that comes later than the first call is stored by another claim.
  const isFirstRow = rowHash !== null && remembered?.claim.itemDigest === null;
  if (remembered !== undefined && !isFirstRow) {
    const item = rowHash === remembered.rowHash ? null : opening.item;
    checkSameTask(deps, remembered.environment, remembered.claim, { ...opening, item });
    return { ...remembered, key, known: true, keyId: caller.keyId };
  }
  try {
    const environment = await deps.environments.forRun(caller.tenant, caller.run, opening.environment);
    const claim = openingClaim(owner, caller.face, environment, opening.item, deps.canonical);
    const exposed = exposedItem(environment, opening.item);
    return { claim, environment, exposed, rowHash, key, known: false, keyId: caller.keyId };
  } catch (thrown) {
    if (!(thrown instanceof Failure) || !barsOpening.has(thrown.code)) throw thrown;
    return withdrawn(deps, caller, ref, opening, thrown);
  }
}

/** What the operator or an author may have withdrawn: the environment itself, an image, an amount. */
const barsOpening: ReadonlySet<FailureCode> = new Set([
  'unknown_environment',
  'invalid_request',
  'requirements_unmet',
]);

/** What is offered no longer opens nothing new, and what is open goes on. */
async function withdrawn(
  deps: ResolveDeps,
  caller: Caller,
  ref: RolloutRef,
  opening: Opening,
  barred: Failure,
): Promise<ResolvedRollout> {
  const record = await deps.claims.find(ownerOf(caller, ref.rollout, 1), ref.attempt);
  if (record === null) throw barred;
  const rollout = await resolveRecord(deps, caller, record);
  checkSameTask(deps, rollout.environment, record, opening);
  return { ...rollout, exposed: await exposedOf(deps, record, rollout.environment) };
}

async function fromRecord(deps: ResolveDeps, caller: Caller, ref: RolloutRef): Promise<ResolvedRollout> {
  const record = await findRollout(deps.claims, caller, ref);
  const rollout = await resolveRecord(deps, caller, record);
  return { ...rollout, exposed: await exposedOf(deps, record, rollout.environment) };
}

/** The same, of a record in hand, for what runs nothing new: it needs nothing of the dataset row but what image it names. */
export async function resolveRecord(
  deps: Pick<ResolveDeps, 'claims' | 'environments'>,
  { keyId }: Pick<Caller, 'keyId'>,
  record: RolloutRecord,
): Promise<Omit<ResolvedRollout, 'exposed'>> {
  const environment = await deps.environments.byVersion(record.version);
  const row = isOpenTemplate(environment.template) ? await rowIfKept(deps.claims, record) : null;
  return {
    claim: repeatedClaim(record, environment, row),
    environment,
    rowHash: null,
    key: record.key,
    known: true,
    keyId,
  };
}

/** For a rollout that is over nothing runs any more, so nothing of its row is needed: a repeat gets what is recorded. */
async function exposedOf(
  { claims }: Pick<ResolveDeps, 'claims'>,
  record: RolloutRecord,
  environment: Environment,
): Promise<ExposedItem> {
  const isNeeded = environment.expose.length > 0 && !isOver(record.state);
  return isNeeded ? exposedItem(environment, await rowOf(claims, record)) : {};
}

/** The record of a rollout in the caller's run. Throws `rollout_unknown`. */
export async function findRollout(
  claims: Pick<ClaimStore, 'find'>,
  caller: Caller,
  ref: RolloutRef,
): Promise<RolloutRecord> {
  const record = await claims.find(ownerOf(caller, ref.rollout, 1), ref.attempt);
  if (record !== null) return record;
  throw new Failure('rollout_unknown', `run ${caller.run} has no rollout ${ref.rollout}; open it first`);
}

export function ownerOf(caller: Caller, rollout: RolloutId, attempt: number): Owner {
  return { tenant: caller.tenant, run: caller.run, rollout, attempt, role: 'policy' };
}

/**
 * A rollout stays in the environment that it was opened with, and with its dataset row: a request that brings another row means
 * another rollout. Throws `environment_mismatch` and `item_mismatch`.
 */
export function checkSameTask(
  { canonical }: Pick<ResolveDeps, 'canonical'>,
  opened: Environment,
  { itemDigest }: Pick<RolloutRecord, 'itemDigest'>,
  { environment: { name, version }, item }: Opening,
): void {
  if (opened.name !== name || (version !== null && !opened.version.startsWith(version)))
    throw new Failure('environment_mismatch', `the rollout was opened with ${opened.name}, not with ${name}`);
  if (isOtherItem(itemDigest, itemDigestOf(opened, item, canonical))) throw refusal('item_mismatch', null);
}

/** What is needed to claim for a rollout again, and to run calls in it. */
type CachedRollout = {
  readonly claim: ClaimRequest;
  readonly environment: Environment;
  /** The fields of its dataset row that may enter the sandbox. */
  readonly exposed: ExposedItem;
  /** Of the row as the first request brought it; null: none did. */
  readonly rowHash: string | null;
};

/** Each call brings the row of its rollout again, mostly unchanged. To compare the hash takes a tenth of the time of {@link itemDigestOf}. */
const rowHashOf = (item: Item | null): string | null =>
  item === null ? null : createHash('sha1').update(JSON.stringify(item)).digest('base64');

/** Two bursts of the largest size; the oldest goes first, and costs its rollout one extra round trip. */
const mostRemembered = 4_096;
/** Their dataset rows may be 1 MB each: an eighth of what the chart requests for a gateway. Most characters are one byte. */
const mostRowCharacters = 64 * 1024 * 1024;

/**
 * Rollouts that this process has claimed for, so that later calls go straight to admission. A memory of what cannot
 * change (a rollout's environment and version); everything that can is asked of fleet state each time.
 */
export class RolloutCache {
  readonly #byKey = new Map<RolloutKey, CachedRollout>();
  #rowCharacters = 0;

  get(key: RolloutKey): CachedRollout | undefined {
    return this.#byKey.get(key);
  }

  remember(key: RolloutKey, rollout: CachedRollout): void {
    this.forget(key);
    this.#byKey.set(key, rollout);
    this.#rowCharacters += rowCharacters(rollout);
    for (const oldest of this.#byKey.keys()) {
      if (this.#byKey.size <= mostRemembered && this.#rowCharacters <= mostRowCharacters) break;
      this.forget(oldest);
    }
  }

  forget(key: RolloutKey): void {
    const forgotten = this.#byKey.get(key);
    if (forgotten === undefined) return;
    this.#byKey.delete(key);
    this.#rowCharacters -= rowCharacters(forgotten);
  }
}

const rowCharacters = ({ claim }: CachedRollout): number => claim.item?.length ?? 0;

export type OpenDeps = ResolveDeps &
  RetryDeps & {
    readonly claims: Pick<ClaimStore, 'claim' | 'find'>;
    readonly controls: Pick<ControlStore, 'standing'>;
    readonly timings: Pick<Timings, 'openingMs'>;
  };

export type Open = {
  readonly rollout: RolloutId;
  readonly attempt: number;
  readonly environment: EnvironmentReference;
  readonly item: Item | null;
  /** Stands for the item's own key; null: the item says which group it is of. */
  readonly group: ItemKey | null;
  readonly tags: RolloutTags;
  readonly requirements: Requirements | null;
};

type Opened = {
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
  await checkTask(deps, caller.tenant, environment, open);
  const ofItem = openingClaim(owner, caller.face, environment, open.item, deps.canonical, open.requirements);
  const claim = { ...ofItem, itemKey: open.group ?? ofItem.itemKey, tags: open.tags };
  const until = Deadline.in(deps.clock, deps.timings.openingMs);
  const claimIt = async () => {
    const before = await deps.claims.find(owner, owner.attempt);
    const reply = await deps.claims.claim(claim);
    if (reply.kind === 'refused') throw refusal(reply.code, reply.rollout);
    await checkRepeat(deps, reply.rollout, claim);
    return {
      rollout: reply.rollout,
      created: before === null,
      ahead: reply.kind === 'waiting' ? reply.ahead : null,
    };
  };
  return retrying(deps, retryPolicies.opening, claimIt, { until });
}

/** A request that opened the rollout has its own demands in the record. */
async function checkRepeat(
  { environments }: Pick<ResolveDeps, 'environments'>,
  rollout: RolloutRecord,
  claim: ClaimRequest,
): Promise<void> {
  if (claim.needs === null || claim.needs === rollout.needs) return;
  checkOpenedWith(await environments.byVersion(rollout.version), rollout, claim);
}
