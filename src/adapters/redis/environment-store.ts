import type { Environment, Image } from '#src/model/environment.ts';
import { environmentVersion, templateDigest, type TemplateDigest } from '#src/model/ids.ts';
import type {
  ChosenImage,
  EnvironmentStore,
  CatalogEntry,
  CatalogStore,
  AliasStore,
  Named,
} from '#src/ports/fleet/registry.ts';
import { listOf, numberOf, textOf, type Reply, textOrNull, type RunScript } from './script-runner.ts';

/** Longer than the pause after which a run would come back to its pinned versions. */
const environmentsKeptMs = 14 * 24 * 3_600_000;

/** Environments come from our own compiler and are stored as they are, so they are not checked again here. */
export function environmentStore(run: RunScript): EnvironmentStore {
  return {
    publish: async (environment) => {
      await run('publish-environment', environment.version, JSON.stringify(environment), environmentsKeptMs);
    },
    load: async (version) => {
      const text = await run('load-environment', version, environmentsKeptMs);
      return text === null ? null : environmentOf(text);
    },
    beginning: async (prefix) =>
      listOf(await run('versions-beginning', prefix, environmentsKeptMs)).map((one) =>
        environmentVersion(textOf(one)),
      ),
    published: async () => listOf(await run('list-environments', environmentsKeptMs)).map(environmentOf),
    choose: (template, chosen) => choose(run, template, chosen),
    chosen: async (sinceMs) => {
      const [atMs, rows] = listOf(await run('list-chosen', sinceMs ?? ''));
      return { atMs: numberOf(atMs), templates: listOf(rows).map(chosenOf) };
    },
  };
}

/** Tells of a template that a row made. */
export async function choose(
  run: RunScript,
  template: TemplateDigest,
  { version, image }: ChosenImage,
): Promise<void> {
  await run('choose', template, version, JSON.stringify(image));
}

function chosenOf(row: Reply) {
  const [template, version, image] = listOf(row);
  return {
    template: templateDigest(textOf(template)),
    version: environmentVersion(textOf(version)),
    image: JSON.parse(textOf(image)) as Image,
  };
}

function environmentOf(text: Reply): Environment {
  return JSON.parse(textOf(text)) as Environment;
}

/** Fifteen times the interval at which processes say what they have: a pause is not an end. */
const silentMs = 30_000;

/** Catalogs come from our own loader and are stored as they are, so they are not checked again here. */
export function catalogStore(run: RunScript): CatalogStore {
  return {
    hold: async (holder, catalog, sinceMs) => {
      const reply = await run('hold-catalog', holder, silentMs, environmentsKeptMs, catalog, sinceMs ?? '');
      if (reply === null) return null;
      const [newest, since] = listOf(reply);
      return { newest: textOf(newest), sinceMs: numberOf(since) };
    },
    leave: async (holder) => {
      const [newest] = listOf(await run('hold-catalog', holder, silentMs, environmentsKeptMs, '', ''));
      return textOrNull(newest);
    },
    publish: async (catalog, entries) => {
      await run('publish-catalog', catalog, JSON.stringify(entries), environmentsKeptMs);
    },
    entries: async (catalog) => {
      const text = await run('load-catalog', catalog);
      return text === null ? null : (JSON.parse(textOf(text)) as readonly CatalogEntry[]);
    },
  };
}

/** One for each task of a large data set, some 300 B each. */
export const mostAliases = 10_000;

export function aliasStore(run: RunScript): AliasStore {
  return {
    name: async (tenant, alias, named) =>
      (await run(
        'name-image',
        encodeURIComponent(tenant),
        alias,
        JSON.stringify(named),
        mostAliases,
        environmentsKeptMs,
      )) === 1,
    named: async (tenant, alias) => {
      const text = await run('named-image', encodeURIComponent(tenant), alias, environmentsKeptMs);
      return text === null ? null : (JSON.parse(textOf(text)) as Named);
    },
  };
}
