import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { inject } from 'vitest';
import { eventually } from './eventually.ts';
import { type Faces, facesOf } from './faces.ts';
import { writeEnvironments } from './fleet-folders.ts';
import type { SharedEnvironment } from './shared-environments.ts';

/** What `start-shared-fleet.ts` gives to the files that share its fleet. */
export type SharedFleet = {
  readonly gatewayUrl: string;
  readonly apiKey: string;
  readonly environmentsDir: string;
};

declare module 'vitest' {
  interface ProvidedContext {
    sharedFleet: SharedFleet;
  }
}

/**
 * Both faces of the fleet that many test files share, in a run of the caller's own: rollouts of the same name in other files are
 * other rollouts. Only for tests that neither kill, configure nor count anything of the fleet. A file that uses it is listed in
 * `test/suites.ts`.
 */
export function sharedFleet(environment: SharedEnvironment = 'shell'): FacesOfRun {
  return facesIn(environment);
}

/** Faces of the shared fleet, and the run that their rollouts are in. */
export type FacesOfRun = Faces & { readonly run: string };

/** The shared fleet with environments of one test file, as long as that needs them. */
export type JoinedFleet = FacesOfRun & { leave(): Promise<void> };

/**
 * As {@link sharedFleet}, for a file with environments of its own. They are added to the running fleet, so their names must
 * be no other file's. `files`: beside them, by name.
 */
export async function joinSharedFleet(
  environments: Readonly<Record<string, string>>,
  files: Readonly<Record<string, string>> = {},
): Promise<JoinedFleet> {
  const { environmentsDir } = inject('sharedFleet');
  const [usual = 'shell', ...others] = Object.keys(environments);
  const faces = facesIn(usual);
  await writeEnvironments(environmentsDir, environments, files);
  for (const name of [usual, ...others]) await served(faces, name);
  const written = [...Object.keys(environments).map((name) => `${name}.yaml`), ...Object.keys(files)];
  return {
    ...faces,
    leave: async () => {
      for (const name of written) await rm(join(environmentsDir, name));
    },
  };
}

const served = (faces: Faces, name: string) =>
  eventually(() => faces.native.get(`/v1/environments/${name}/tools`), { status: 200 });

function facesIn(environment: string): FacesOfRun {
  const { gatewayUrl, apiKey } = inject('sharedFleet');
  const run = `run-${randomUUID()}`;
  return { ...facesOf(gatewayUrl, apiKey, { environment, headers: { 'x-corral-run': run } }), run };
}
