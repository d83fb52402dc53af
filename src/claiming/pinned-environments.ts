import { Failure } from '../failure/failure.ts';
import type { Environment, EnvironmentCatalog } from '../model/environment.ts';
import { environmentName, environmentVersion } from '../model/ids.ts';
import type { EnvironmentVersion, RunId, TenantId } from '../model/ids.ts';
import type { ClaimStore } from '../ports/fleet/claims.ts';
import type { EnvironmentStore } from '../ports/fleet/registry.ts';

/** `name`, or `name@version` with a prefix of at least this many digits of the version. */
const shortestVersion = 8;

/**
 * Environments as runs see them: the first use pins a name's version for the whole run, also when the file changes or
 * the gateway restarts meanwhile. Answers are remembered, because a pin never changes.
 */
export class PinnedEnvironments {
  readonly #catalog: EnvironmentCatalog;
  readonly #claims: Pick<ClaimStore, 'pinVersion'>;
  readonly #published: Pick<EnvironmentStore, 'load'>;
  readonly #pins = new Map<string, Environment>();

  constructor(
    catalog: EnvironmentCatalog,
    claims: Pick<ClaimStore, 'pinVersion'>,
    published: Pick<EnvironmentStore, 'load'>,
  ) {
    this.#catalog = catalog;
    this.#claims = claims;
    this.#published = published;
  }

  /** The environment a run uses under this name. Throws `unknown_environment`. */
  async forRun(tenant: TenantId, run: RunId, reference: EnvironmentReference): Promise<Environment> {
    const asked = this.newest(reference);
    if (reference.version !== null) return asked;
    const which = JSON.stringify([tenant, run, asked.name]);
    const known = this.#pins.get(which);
    if (known !== undefined) return known;
    const version = await this.#claims.pinVersion(tenant, run, asked.name, asked.version);
    const pinned = await this.byVersion(version);
    if (this.#pins.size >= mostPins) this.#pins.clear();
    this.#pins.set(which, pinned);
    return pinned;
  }

  /** The newest of that name, or exactly the version named; from this process's own catalog. */
  newest(reference: EnvironmentReference): Environment {
    const newest = this.#catalog.newest(environmentName(reference.name));
    if (newest === undefined) throw unknownEnvironment(reference.name, this.#catalog);
    if (reference.version === null || isVersion(newest, reference.version)) return newest;
    const named = this.#catalog.byVersion(environmentVersion(reference.version));
    if (named === undefined || named.name !== newest.name) {
      throw unknownEnvironment(`${reference.name}@${reference.version}`, this.#catalog);
    }
    return named;
  }

  async byVersion(version: EnvironmentVersion): Promise<Environment> {
    const here = this.#catalog.byVersion(version) ?? (await this.#published.load(version));
    if (here === null) throw unknownEnvironment(`version ${version}`, this.#catalog);
    return here;
  }
}

export type EnvironmentReference = { readonly name: string; readonly version: string | null };

/** Runs times environments that one gateway remembers; forgetting costs one round trip. */
const mostPins = 10_000;

function isVersion(environment: Environment, version: string): boolean {
  return version.length >= shortestVersion && environment.version.startsWith(version);
}

function unknownEnvironment(name: string, catalog: EnvironmentCatalog): Failure {
  const names = catalog.all().map((environment) => environment.name);
  return new Failure(
    'unknown_environment',
    `no environment ${name}; there are: ${names.join(', ') || 'none'}`,
  );
}
