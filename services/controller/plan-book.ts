import type { Environment } from '../../src/model/environment.ts';
import { planPools } from '../../src/pool/plans.ts';
import type { PoolPlans } from '../../src/pool/plans.ts';
import type { EnvironmentStore } from '../../src/ports/fleet/registry.ts';
import type { RolloutRecord } from '../../src/ports/fleet/records.ts';
import type { ControllerSettings } from './settings.ts';

/** Which templates there are, from the environments given at start and the versions that runs are still pinned to. */
export type PlanBook = {
  plans(): PoolPlans;
  refresh(): Promise<void>;
  /** Publishes every version known here, because fleet state may have forgotten them. */
  publishAgain(): Promise<void>;
  /** Wall clock in milliseconds at which a rollout must be over, whatever happens. */
  hardEndMs(rollout: RolloutRecord): number;
  /** No sandbox lives longer after its bind. */
  longestLifeMs(): number;
};

/** The hard life of wire.md's default: for a version that nobody publishes any more. */
const defaultHardLifeMs = 2 * 3_600_000;

/** Publishes the newest versions at its first refresh, so that every gateway and controller can serve them. */
export function createPlanBook(store: EnvironmentStore, settings: ControllerSettings): PlanBook {
  let published: readonly Environment[] = [];
  let plans = planPools(settings.newest, published, settings.poolOverrides);
  let announced = false;

  const refresh = async () => {
    if (!announced) await Promise.all(settings.newest.map((environment) => store.publish(environment)));
    announced = true;
    published = await store.published();
    plans = planPools(settings.newest, published, settings.poolOverrides);
  };
  const publishAgain = async () => {
    await Promise.all(all().map((environment) => store.publish(environment)));
  };
  const all = () => [...settings.newest, ...published];
  const hardEndMs = ({ version, claimedAtMs, placedAtMs }: RolloutRecord) => {
    const environment = all().find((one) => one.version === version);
    return (claimedAtMs ?? placedAtMs) + (environment?.limits.hardLifeMs ?? defaultHardLifeMs);
  };

  return {
    plans: () => plans,
    refresh,
    publishAgain,
    hardEndMs,
    longestLifeMs: () => Math.max(defaultHardLifeMs, ...all().map((one) => one.limits.hardLifeMs)),
  };
}
