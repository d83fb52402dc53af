import type { OfferedEnvironments } from '#src/claiming/pinned-environments.ts';
import { createCatalog } from '#src/environments/load-environments.ts';
import type { OperatorPolicy } from '#src/environments/policy.ts';
import type { Environment } from '#src/model/environment.ts';

/** Environments that never change and of which nobody else has newer ones. */
export const offered = (
  environments: readonly Environment[],
  policy?: OperatorPolicy,
): OfferedEnvironments => ({
  ...createCatalog(environments, policy),
  agree: () => Promise.resolve(),
});
