import { type Environment, hasSessions, type Image } from '#src/model/environment.ts';
import type { Grader } from '#src/model/grader.ts';
import { gradersIn } from '#src/model/grader-leaves.ts';
import { environmentVersion, templateDigest, type TemplateDigest } from '#src/model/ids.ts';
import type { TemplateChoice } from '#src/model/template-choice.ts';
import type {
  EnvironmentStore,
  CatalogEntry,
  CatalogStore,
  AliasStore,
  Named,
} from '#src/ports/fleet/registry.ts';
import { type RunScript, type Scripts, scriptsOver, textOrNull } from './script-runner.ts';
import { itemsOf } from './scripts/contract.ts';

/** Longer than the pause after which a run would come back to its pinned versions. */
const environmentsKeptMs = 14 * 24 * 3_600_000;

/** Environments come from our own compiler and are stored as they are, so they are not checked again here. */
export function environmentStore(run: RunScript): EnvironmentStore {
  const { ask, exchange } = scriptsOver(run);
  const keptMs = environmentsKeptMs;
  const listed = async (beginning: string) =>
    (await exchange('list-environments', { beginning, keptMs })).texts.map(environmentOf);
  return {
    publish: async (environment) => {
      const { version } = environment;
      const asked = { version, isNew: isNewToPreviousRelease(environment), keptMs };
      await exchange('publish-environment', asked, JSON.stringify(environment));
    },
    load: async (version) => {
      const text = textOrNull((await exchange('load-environment', { version, keptMs })).texts[0]);
      return text === null ? null : environmentOf(text);
    },
    beginning: async (digits) => (await listed(digits)).map(({ version }) => version),
    published: () => listed(''),
    choose: (template, chosen) => choose(ask, template, chosen),
    chosen: async (sinceMs) => {
      const { atMs, templates } = await ask('list-chosen', { sinceMs: sinceMs ?? undefined });
      return {
        atMs,
        templates: itemsOf(templates).map(chosenOf),
      };
    },
  };
}

/** Tells controllers of a template that a row or a demand made. */
export async function choose(
  ask: Scripts['ask'],
  template: TemplateDigest,
  { version, ...choice }: TemplateChoice,
): Promise<void> {
  await ask('choose', { template, version, choice: writeChoice(choice) });
}

type Choice = Omit<TemplateChoice, 'version'>;

function chosenOf({ template, version, choice }: Listed) {
  const named = { template: templateDigest(template), version: environmentVersion(version) };
  return { ...named, ...readChoice(choice) };
}

type Listed = { readonly template: string; readonly version: string; readonly choice: string };

const writeChoice = ({ image, amounts, role }: Choice): string => JSON.stringify({ image, amounts, role });

/** The previous release writes a choice of nothing but an image as the image itself. */
function readChoice(text: string): Choice {
  const choice = JSON.parse(text) as Choice | Image;
  return 'kind' in choice ? { image: choice } : choice;
}

const environmentOf = (text: string) => JSON.parse(text) as Environment;

/** Fifteen times the interval at which processes say what they have: a pause is not an end. */
const silentMs = 30_000;

/** Catalogs come from our own loader and are stored as they are, so they are not checked again here. */
export function catalogStore(run: RunScript): CatalogStore {
  const { ask, exchange } = scriptsOver(run);
  const keptMs = environmentsKeptMs;
  return {
    hold: async (holder, catalog, sinceMs) => {
      const asked = { holder, catalog, sinceMs: sinceMs ?? undefined, silentMs, keptMs };
      const reply = await ask('hold-catalog', asked);
      return reply === null ? null : { newest: reply.newest ?? '', sinceMs: reply.sinceMs ?? 0 };
    },
    leave: async (holder) => (await ask('hold-catalog', { holder, silentMs, keptMs }))?.newest ?? null,
    publish: async (catalog, entries) => {
      await exchange('publish-catalog', { catalog, keptMs }, JSON.stringify(entries));
    },
    entries: async (catalog) => {
      const text = textOrNull((await exchange('load-catalog', { catalog })).texts[0]);
      return text === null ? null : (JSON.parse(text) as readonly CatalogEntry[]);
    },
  };
}

/** One for each task of a large data set, some 300 B each. */
export const mostAliases = 10_000;
/** 16 MiB, for 10,000 names of 1.6 KB: a template with long build steps takes up to 57 KB. */
export const mostAliasBytes = 16 * 1024 * 1024;

export function aliasStore(run: RunScript): AliasStore {
  const { exchange } = scriptsOver(run);
  const keptMs = environmentsKeptMs;
  return {
    name: async (tenant, alias, tag, named) => {
      const asked = {
        tenant: encodeURIComponent(tenant),
        alias,
        tag,
        most: mostAliases,
        mostBytes: mostAliasBytes,
        keptMs,
      };
      return (await exchange('name-image', asked, JSON.stringify(named))).reply;
    },
    named: async (tenant, alias) => {
      const asked = { tenant: encodeURIComponent(tenant), alias, keptMs };
      const [usual, tagged] = (await exchange('named-image', asked)).texts;
      return new Map([...entriesOf(textOrNull(usual)), ...tagsIn(textOrNull(tagged))]);
    },
  };
}

const entriesOf = (text: string | null, tag = 'default'): readonly (readonly [string, Named])[] =>
  text === null ? [] : [[tag, JSON.parse(text) as Named]];

function tagsIn(json: string | null): readonly (readonly [string, Named])[] {
  if (json === null) return [];
  const texts = JSON.parse(json) as Readonly<Record<string, string>>;
  return Object.entries(texts).flatMap(([tag, text]) => entriesOf(text, tag));
}

/**
 * Whether it has devices, a browser, a guarded judge, or the lowest score of several graders. Processes of the previous release do not know these: they
 * would believe a judge whose canaries prove it wrong. So it is published where they do not look, and they do not find it.
 */
export function isNewToPreviousRelease(environment: Environment): boolean {
  const { template, graderTemplate, grader } = environment;
  const hasDevices = [template, graderTemplate].some((each) => each?.devices !== undefined);
  return hasDevices || hasSessions(environment, 'browser') || gradersIn(grader).some(isNewGrader);
}

const isNewGrader = (grader: Grader): boolean =>
  grader.kind === 'lowest' || (grader.kind === 'http' && grader.guard !== undefined);
