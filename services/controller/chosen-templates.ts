import { withImage } from '#src/environments/choose-template.ts';
import { type Environment, isOpenTemplate } from '#src/model/environment.ts';
import type { EnvironmentVersion, TemplateDigest } from '#src/model/ids.ts';
import type { ChosenTemplate } from '#src/pool/plans.ts';
import type { Clock } from '#src/ports/clock.ts';
import type { ChosenImage, EnvironmentStore } from '#src/ports/fleet/registry.ts';

/** How often all are read, and idle ones forgotten; between, only news are: a burst of rows is looked at many times a second. */
const readAllMs = 10_000;

export type ChosenTemplates = {
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
