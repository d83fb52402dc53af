import { Failure } from '../failure/failure.ts';
import type { Environment, EnvironmentCatalog } from '../model/environment.ts';
import {
  environmentName,
  type EnvironmentName,
  type EnvironmentVersion,
  type RunId,
  type TenantId,
} from '../model/ids.ts';
import type { ClaimStore } from '../ports/fleet/claims.ts';
import type { EnvironmentStore } from '../ports/fleet/registry.ts';

/** `name`, or `name@version` with a prefix of at least this many digits of the version. */
const shortestVersion = 8;

/** The catalog of this process, which others may be ahead of. */
export type OfferedEnvironments = EnvironmentCatalog & {
  /** Asks fleet state whether there is something newer. */
  agree(): Promise<void>;
};

/**
 * Environments as runs see them: the first use pins a name's version for the whole run, also when the file changes or
 * the gateway restarts meanwhile. Answers are remembered, because a pin never changes.
 *
 * Nothing that another process published is used for a new rollout without the policy of this gateway's operator; a
 * rollout that exists goes on in what it was opened with.
 */
export class PinnedEnvironments {
  readonly #catalog: OfferedEnvironments;
  readonly #claims: Pick<ClaimStore, 'pinVersion'>;
  readonly #published: Pick<EnvironmentStore, 'load' | 'beginning'>;
  readonly #known = new Map<string, Environment>();

  constructor(
    catalog: OfferedEnvironments,
    claims: Pick<ClaimStore, 'pinVersion'>,
    published: Pick<EnvironmentStore, 'load' | 'beginning'>,
  ) {
    this.#catalog = catalog;
    this.#claims = claims;
    this.#published = published;
  }

  /** The environment a run uses under this name. Throws `unknown_environment`. */
  async forRun(tenant: TenantId, run: RunId, reference: EnvironmentReference): Promise<Environment> {
    const asked = await this.named(reference);
    if (reference.version !== null) return asked;
    const pinned = await this.#remembered(['run', tenant, run, asked.name], async () =>
      this.byVersion(await this.#claims.pinVersion(tenant, run, asked.name, asked.version)),
    );
    return this.#permitted(pinned);
  }

  /**
   * The newest of that name, or exactly the version named: of this process' own catalog, else what fleet state has. A
   * name that is no longer offered has no versions either. Throws `unknown_environment`.
   */
  async named({ name, version }: EnvironmentReference): Promise<Environment> {
    const newest = await this.#newest(environmentName(name));
    if (newest === undefined) throw unknownEnvironment(name, this.#catalog);
    if (version === null || isVersion(newest, version)) return newest;
    const address = `${name}@${version}`;
    if (version.length < shortestVersion) throw unknownEnvironment(address, this.#catalog);
    return this.#permitted(
      await this.#remembered(['address', address], async () => this.#addressed(newest.name, version)),
    );
  }

  async byVersion(version: EnvironmentVersion): Promise<Environment> {
    const here = this.#catalog.byVersion(version) ?? (await this.#published.load(version));
    if (here === null) throw unknownEnvironment(`version ${version}`, this.#catalog);
    return here;
  }

  /** Another gateway may have heard of it first. */
  async #newest(name: EnvironmentName): Promise<Environment | undefined> {
    const here = this.#catalog.newest(name);
    if (here !== undefined) return here;
    await this.#catalog.agree();
    return this.#catalog.newest(name);
  }

  async #addressed(name: EnvironmentName, prefix: string): Promise<Environment> {
    const versions = await this.#published.beginning(prefix);
    const found = await Promise.all(versions.map((version) => this.#published.load(version)));
    const [one, ...others] = found.filter((environment) => environment?.name === name);
    const address = `${name}@${prefix}`;
    if (others.length > 0)
      throw new Failure('unknown_environment', `${address} is several versions; write more digits`);
    if (one === undefined || one === null) throw unknownEnvironment(address, this.#catalog);
    return one;
  }

  #permitted(environment: Environment): Environment {
    const permission = this.#catalog.permitted(environment);
    if (permission.kind === 'permitted') return permission.environment;
    const { name, version } = environment;
    const which = `${name}@${version.slice(0, shortestVersion)}`;
    throw new Failure(
      'unknown_environment',
      `${which} is beyond the policy of this fleet's operator: ${permission.because}`,
    );
  }

  async #remembered(which: readonly string[], find: () => Promise<Environment>): Promise<Environment> {
    const key = JSON.stringify(which);
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const found = await find();
    if (this.#known.size >= mostKnown) this.#known.clear();
    this.#known.set(key, found);
    return found;
  }
}

export type EnvironmentReference = { readonly name: string; readonly version: string | null };

/** Runs times environments, and addresses, that one gateway remembers; forgetting costs a round trip or two. */
const mostKnown = 10_000;

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
