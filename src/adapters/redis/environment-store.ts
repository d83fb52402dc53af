import type { Environment, Image } from '#src/model/environment.ts';
import { environmentVersion, templateDigest, type TemplateDigest } from '#src/model/ids.ts';
import type { ChosenImage, EnvironmentStore } from '#src/ports/fleet/registry.ts';
import { listOf, numberOf, textOf, type Reply } from './reply.ts';
import type { RunScript } from './script-runner.ts';

/** Longer than the pause after which a run would come back to its pinned versions. */
export const environmentsKeptMs = 14 * 24 * 3_600_000;

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
