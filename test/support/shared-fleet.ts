import { randomUUID } from 'node:crypto';
import { inject } from 'vitest';
import { type Faces, facesOf } from './faces.ts';
import type { SharedEnvironment } from './shared-environments.ts';

/** What `start-shared-fleet.ts` gives to the files that share its fleet. */
export type SharedFleet = { readonly gatewayUrl: string; readonly apiKey: string };

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
export function sharedFleet(environment: SharedEnvironment = 'shell'): Faces {
  const { gatewayUrl, apiKey } = inject('sharedFleet');
  return facesOf(gatewayUrl, apiKey, { environment, headers: { 'x-corral-run': `run-${randomUUID()}` } });
}
