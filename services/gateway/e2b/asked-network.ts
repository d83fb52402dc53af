import type { Environment } from '#src/model/environment.ts';
import { mirrorsNetwork } from '#src/model/mirrors.ts';
import type { NetworkUpdate, NewSandbox } from '#src/protocol/e2b/control.ts';
import { invalid } from '../http/answer-failure.ts';

/*
 * A sandbox has the network of its environment from its first moment to its last. What is asked for is taken where the sandbox
 * already is so, or has less; nothing is said to be closed that is open. Its clients ask for the internet unless they are
 * told not to, so that wish alone is not refused when a sandbox is opened, and is when it is all that is asked for.
 */

const hasNone = ({ template: { network } }: Environment): boolean =>
  network === 'none' || network === mirrorsNetwork;

/** Throws `invalid_request` for a network that the environment does not give. */
export function checkAskedNetwork(environment: Environment, body: NewSandbox): void {
  if (hasNone(environment)) return;
  if (body.allow_internet_access === false || isNarrowed(body.network ?? {})) throw cannotNarrow(environment);
}

/** Throws `invalid_request` for what the sandbox has not. `environment`: null where it is known no longer. */
export function checkNetwork(environment: Environment | null, update: NetworkUpdate): void {
  if (environment === null) throw invalid('the environment of this sandbox is not offered any more');
  const isNarrower = update.allow_internet_access === false || isNarrowed(update);
  if (hasNone(environment)) {
    if (!isNarrower)
      throw invalid(
        `environment ${environment.name} has network: ${environment.template.network}, and nothing opens it later`,
      );
  } else if (isNarrower) throw cannotNarrow(environment);
}

const isNarrowed = ({ allowOut, denyOut }: Pick<NetworkUpdate, 'allowOut' | 'denyOut'>): boolean =>
  (allowOut ?? []).length > 0 || (denyOut ?? []).length > 0;

const cannotNarrow = ({ name, template }: Environment) =>
  invalid(
    `environment ${name} has network: ${template.network}, and nothing closes it later; use one with network: none`,
  );
