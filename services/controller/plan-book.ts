import { templateOf } from '#src/environments/choose-template.ts';
import type { Environment } from '#src/model/environment.ts';
import type { EnvironmentVersion, TemplateDigest } from '#src/model/ids.ts';
import type { TemplateChoice } from '#src/model/template-choice.ts';
import type { PoolOverrides } from '#src/model/pool-places.ts';
import { type ChosenTemplate, planPools, type PoolPlans } from '#src/pool/plans.ts';
import type { Clock } from '#src/ports/clock.ts';
import type { RolloutRecord } from '#src/ports/fleet/records.ts';
import type { EnvironmentStore } from '#src/ports/fleet/registry.ts';

/**
 * Which templates there are, from the environments of now, the versions that runs are still pinned to, and what dataset
 * rows and demands make of them.
 */
export type PlanBook = {
  plans(): PoolPlans;
  refresh(): Promise<void>;
  /** Reads the templates that rows and demands have made meanwhile. */
  readChosen(): Promise<void>;
  /** Forgets those of them that fleet state has forgotten, every ten seconds. */
  forgetChosen(): Promise<void>;
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
  const chosen = createChosenTemplates(store);
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
    if (await chosen.read(ofVersion, 'news')) plans = planAll();
  };
  let forgotAtMs = clock.monotonicMs();
  const forgetChosen = async () => {
    if (chosen.all().length === 0 || clock.monotonicMs() - forgotAtMs < forgetMs) return;
    forgotAtMs = clock.monotonicMs();
    if (await chosen.read(ofVersion, 'all')) plans = planAll();
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
    forgetChosen,
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

/** One that is forgotten is not wanted by any process, so it is no hurry. */
const forgetMs = 10_000;

type ChosenTemplates = {
  /**
   * Reads what is new, because a burst of rows is looked at many times a second; or all, which also forgets
   * unused templates. Returns whether anything has changed.
   */
  read(environmentOf: EnvironmentOf, which: 'news' | 'all'): Promise<boolean>;
  all(): readonly ChosenTemplate[];
  /** Tells fleet state of every one known here, because it may have forgotten them. */
  tellAgain(): Promise<void>;
};

type EnvironmentOf = (version: EnvironmentVersion) => Environment | undefined;
type Known = ChosenTemplate & { readonly chosen: TemplateChoice };

/** The templates that rows and demands made of environments, as gateways report them. */
export function createChosenTemplates(store: Pick<EnvironmentStore, 'chosen' | 'choose'>): ChosenTemplates {
  let known = new Map<TemplateDigest, Known>();
  let readAtMs: number | null = null;

  return {
    read: async (environmentOf, which) => {
      const answer = await store.chosen(which === 'all' ? null : readAtMs);
      const before = known;
      known = new Map(which === 'all' ? [] : before);
      let isWhole = true;
      for (const { template, ...chosen } of answer.templates) {
        const found = before.get(template) ?? made(template, chosen, environmentOf(chosen.version));
        if (found === null) isWhole = false;
        else known.set(template, found);
      }
      // One of a version that is not known here yet is read again.
      if (isWhole) readAtMs = answer.atMs;
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
  chosen: TemplateChoice,
  environment: Environment | undefined,
): Known | null {
  const template = environment === undefined ? null : templateOf(environment, chosen);
  if (environment === undefined || template?.digest !== digest) return null;
  return { environment, template, chosen };
}
