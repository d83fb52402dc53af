import { Failure } from '../failure/failure.ts';
import { type Environment, isOpenTemplate } from '../model/environment.ts';
import type { TemplateDigest } from '../model/ids.ts';
import type { Timings } from '../model/timings.ts';
import type { PoolStore } from '../ports/fleet/pool.ts';
import { Deadline } from '../waiting/deadline.ts';
import { type RetryDeps, retrying } from '../waiting/retries.ts';
import { retryPolicies } from '../waiting/retry-policies.ts';
import type { ResolveDeps, Caller } from './resolve-rollout.ts';
import { choiceOf } from './claim-request.ts';
import type { EnvironmentReference } from './pinned-environments.ts';
import { type ChosenTemplate, chooseTemplate } from '../environments/choose-template.ts';
import type { Item } from '../model/grader.ts';
import type { Amounts } from '../model/amounts.ts';
import type { Requirements } from '../model/requirements.ts';
import { checkRequirements } from './unmet-requirements.ts';

export type PrewarmDeps = Pick<ResolveDeps, 'environments'> &
  RetryDeps & {
    readonly pool: Pick<PoolStore, 'announce'>;
    readonly timings: Pick<Timings, 'openingMs'>;
  };

export type Prewarm = {
  readonly environment: EnvironmentReference;
  /** Rollouts that will come at once. */
  readonly rollouts: Rollouts;
  /** When they come, wall clock in milliseconds; null: as soon as they can. */
  readonly neededAtMs: number | null;
  /** What each of them will demand when it is opened; null: nothing. */
  readonly requirements: Requirements | null;
};

/** `count` sandboxes are kept ready until `untilMs`: of the environment's template, or of all that its rows make. */
export type Prewarmed = {
  readonly environment: Environment;
  readonly templates: readonly TemplateDigest[];
  readonly count: number;
  readonly untilMs: number;
};

/** Trainers are late: a burst that has not come by then is not paid for any longer. */
const lateMs = 10 * 60_000;
/** Idle sandboxes cost the same as busy ones, and warm ones are replaced after about this time anyway. */
const longestAheadMs = 3_600_000;

/**
 * Announces a burst, so that its sandboxes are ready before its rollouts ask for them; never more than the pool's
 * maximum, where the first rows come first. Another announcement of the same run for the same template replaces this
 * one. Throws `unknown_environment`, `invalid_request` for a time too far ahead, `line_full` when too many runs announce,
 * `requirements_unmet` as the open of its rollouts would, and what choosing the templates throws.
 */
export async function prewarm(deps: PrewarmDeps, caller: Caller, asked: Prewarm): Promise<Prewarmed> {
  const aheadMs = aheadOf(asked.neededAtMs, deps.clock.nowMs());
  const environment = await deps.environments.forRun(caller.tenant, caller.run, asked.environment);
  if (asked.requirements !== null) checkRequirements(environment, asked.requirements, []);
  const demanded = needsOf(environment, asked.rollouts, asked.requirements?.amounts);
  const needs = withinPool(demanded, environment.pool.max);
  const { tenant, run } = caller;
  const until = Deadline.in(deps.clock, deps.timings.openingMs);
  const announced = await Promise.all(
    needs.map(({ chosen, count }) => {
      const announcement = {
        tenant,
        run,
        count,
        lifeMs: aheadMs + lateMs,
        ...choiceOf(chosen),
      };
      return retrying(
        deps,
        retryPolicies.opening,
        () => deps.pool.announce(chosen.template.digest, announcement),
        { until },
      );
    }),
  );
  return {
    environment,
    templates: needs.map(({ chosen }) => chosen.template.digest),
    count: sum(needs.map(({ count }) => count)),
    untilMs: Math.min(...announced),
  };
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0);

function aheadOf(neededAtMs: number | null, nowMs: number): number {
  const aheadMs = Math.max(0, (neededAtMs ?? nowMs) - nowMs);
  if (aheadMs <= longestAheadMs) return aheadMs;
  throw new Failure(
    'invalid_request',
    `needed_at is ${Math.round(aheadMs / 60_000)} minutes ahead; announce a burst at most an hour before it comes`,
  );
}

/** A burst as it is announced: so many rollouts of whatever row, or so many of each row. */
type Rollouts = number | readonly { readonly item: Item | null; readonly count: number }[];

/** Sandboxes of one template. */
type Need = { readonly chosen: ChosenTemplate; readonly count: number };

/**
 * How many sandboxes of which template; rows with the same template add up. Throws `item_missing` where a number alone says
 * nothing, and what choosing a template throws.
 */
function needsOf(environment: Environment, rollouts: Rollouts, required: Amounts = {}): readonly Need[] {
  const { name, template, demands = {} } = environment;
  if (typeof rollouts === 'number') {
    if (isOpenTemplate(template)) throw rowsNeeded(name, 'its image', template.image.field);
    const [field] = Object.values(demands);
    if (field !== undefined) throw rowsNeeded(name, 'what a task demands', field);
    return [{ chosen: chooseTemplate(environment, null, required), count: rollouts }];
  }
  const needs = new Map<TemplateDigest, Need>();
  for (const { item, count } of rollouts) {
    const chosen = chooseTemplate(environment, item, required);
    const { digest } = chosen.template;
    const before = needs.get(digest)?.count ?? 0;
    needs.set(digest, { chosen, count: before + count });
  }
  return [...needs.values()];
}

/** Cut to what the pool may hold in all; the first come first. */
function withinPool(needs: readonly Need[], max: number): readonly Need[] {
  let room = max;
  return needs
    .map((need) => {
      const count = Math.min(need.count, room);
      room -= count;
      return { ...need, count };
    })
    .filter(({ count }) => count > 0);
}

function rowsNeeded(environment: string, what: string, field: string): Failure {
  return new Failure(
    'item_missing',
    `environment ${environment} takes ${what} from the item field ${field}, so a number alone says nothing; ` +
      'announce with `items`, each with its row and count',
    { evidence: { field } },
  );
}
