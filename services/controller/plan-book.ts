import { withImage } from '#src/environments/choose-template.ts';
import { type Environment, isOpenTemplate } from '#src/model/environment.ts';
import type { EnvironmentVersion, TemplateDigest } from '#src/model/ids.ts';
import { type ChosenTemplate, planPools, type PoolOverrides, type PoolPlans } from '#src/pool/plans.ts';
import type { Clock } from '#src/ports/clock.ts';
import type { RolloutRecord } from '#src/ports/fleet/records.ts';
import type { ChosenImage, EnvironmentStore } from '#src/ports/fleet/registry.ts';

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

export type ControllerSettings = {
  /** The newest version of every environment; another list whenever anything in it is another. */
  readonly newest: () => readonly Environment[];
  readonly poolOverrides: PoolOverrides;
  readonly startBudget: number;
};

/** How often all are read, and idle ones forgotten; between, only news are: a burst of rows is looked at many times a second. */
const readAllMs = 10_000;

type ChosenTemplates = {
  /** Reads what is new; every ten seconds everything. Whether anything is another than before. */
  read(environmentOf: (version: EnvironmentVersion) => Environment | undefined): Promise<boolean>;
  all(): readonly ChosenTemplate[];
  /** Tells fleet state of every one known here, because it may have forgotten them. */
  tellAgain(): Promise<void>;
};

type Known = ChosenTemplate & { readonly chosen: ChosenImage };

/** The templates that dataset rows made of environments, as gateways tell of them. */
export function createChosenTemplates(
  store: Pick<EnvironmentStore, 'chosen' | 'choose'>,
  clock: Pick<Clock, 'monotonicMs'>,
): ChosenTemplates {
  let known = new Map<TemplateDigest, Known>();
  let readAtMs: number | null = null;
  let allAtMs = Number.NEGATIVE_INFINITY;

  return {
    read: async (environmentOf) => {
      const everything = clock.monotonicMs() - allAtMs >= readAllMs;
      if (everything) allAtMs = clock.monotonicMs();
      const answer = await store.chosen(everything ? null : readAtMs);
      readAtMs = answer.atMs;
      const before = known;
      known = new Map(everything ? [] : before);
      for (const { template, ...chosen } of answer.templates) {
        const found = before.get(template) ?? made(template, chosen, environmentOf(chosen.version));
        if (found !== null) known.set(template, found);
      }
      return known.size !== before.size || [...known.keys()].some((template) => !before.has(template));
    },
    all: () => [...known.values()],
    tellAgain: async () => {
      await Promise.all([...known].map(([template, { chosen }]) => store.choose(template, chosen)));
    },
  };
}

/** Null: this controller does not know the version yet, or makes another template of it; one that does will serve it. */
function made(
  digest: TemplateDigest,
  chosen: ChosenImage,
  environment: Environment | undefined,
): Known | null {
  if (environment === undefined || !isOpenTemplate(environment.template)) return null;
  const template = withImage(environment.template, chosen.image);
  return template.digest === digest ? { environment, template, chosen } : null;
}
