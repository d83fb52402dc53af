import { type Environment, isOpenTemplate } from '#src/model/environment.ts';
import type { EnvironmentVersion } from '#src/model/ids.ts';
import { planPools, type PoolPlans } from '#src/pool/plans.ts';
import type { Clock } from '#src/ports/clock.ts';
import type { EnvironmentStore } from '#src/ports/fleet/registry.ts';
import type { RolloutRecord } from '#src/ports/fleet/records.ts';
import { createChosenTemplates } from './chosen-templates.ts';
import type { ControllerSettings } from './settings.ts';

/**
 * Which templates there are, from the environments of now, the versions that runs are still pinned to, and the
 * dataset rows that name their images.
 */
export type PlanBook = {
  plans(): PoolPlans;
  refresh(): Promise<void>;
  /** Learns the templates that rows have made meanwhile: somebody waits for them. */
  readChosen(): Promise<void>;
  /** Publishes every version and template known here, because fleet state may have forgotten them. */
  publishAgain(): Promise<void>;
  /** Wall clock in milliseconds at which a rollout must be over, whatever happens. */
  hardEndMs(rollout: RolloutRecord): number;
  /** No sandbox lives longer after its bind. */
  longestLifeMs(): number;
};

/** `hard_life` where an environment names none (docs/environments.md): for a version that nobody publishes any more. */
const defaultHardLifeMs = 2 * 3_600_000;

/** Fleet state forgets a version that nobody has named for 14 days. */
const announceAgainMs = 24 * 3_600_000;

/** Publishes the newest versions when they are others than before, and every day, so that every gateway and controller can serve them. */
export function createPlanBook(
  store: EnvironmentStore,
  clock: Pick<Clock, 'monotonicMs'>,
  settings: ControllerSettings,
): PlanBook {
  const chosen = createChosenTemplates(store, clock);
  let published: readonly Environment[] = [];
  const planAll = () => planPools(settings.newest(), published, settings.poolOverrides, chosen.all());
  let plans = planAll();
  let announced: readonly Environment[] = [];
  let announcedAtMs = -Infinity;

  const refresh = async () => {
    const newest = settings.newest();
    if (newest !== announced || clock.monotonicMs() - announcedAtMs > announceAgainMs) {
      await Promise.all(newest.map((environment) => store.publish(environment)));
      announced = newest;
      announcedAtMs = clock.monotonicMs();
    }
    published = await store.published();
    plans = planAll();
  };
  const readChosen = async () => {
    // Rows make templates only of environments that leave their image open: most fleets have none, and look at each hint.
    if (chosen.all().length === 0 && !all().some(({ template }) => isOpenTemplate(template))) return;
    if (await chosen.read(ofVersion)) plans = planAll();
  };
  const publishAgain = async () => {
    await Promise.all(all().map((environment) => store.publish(environment)));
    await chosen.tellAgain();
  };
  const all = () => [...settings.newest(), ...published];
  const ofVersion = (version: EnvironmentVersion) => all().find((one) => one.version === version);
  const hardEndMs = ({ version, claimedAtMs, placedAtMs }: RolloutRecord) => {
    const hardLifeMs = ofVersion(version)?.limits.hardLifeMs ?? defaultHardLifeMs;
    return (claimedAtMs ?? placedAtMs) + hardLifeMs;
  };

  return {
    plans: () => plans,
    refresh,
    readChosen,
    publishAgain,
    hardEndMs,
    longestLifeMs: () => Math.max(defaultHardLifeMs, ...all().map((one) => one.limits.hardLifeMs)),
  };
}
