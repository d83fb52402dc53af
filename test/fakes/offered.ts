import type { OfferedEnvironments } from '#src/claiming/pinned-environments.ts';
import { createCatalog } from '#src/environments/load-environments.ts';
import type { Environment } from '#src/model/environment.ts';

/** Environments that never change and of which nobody else has newer ones. */
export const offered = (environments: readonly Environment[]): OfferedEnvironments => ({
  ...createCatalog(environments),
  agree: () => Promise.resolve(),
});
