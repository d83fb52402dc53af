import type { Environment, EnvironmentCatalog, Permission } from '../model/environment.ts';
import type { EnvironmentName, EnvironmentVersion } from '../model/ids.ts';
import type {
  CatalogEntry,
  CatalogStore,
  EnvironmentsInForce,
  EnvironmentStore,
} from '../ports/fleet/registry.ts';
import type { Log } from '../ports/log.ts';
import { catalogDigest } from './digest.ts';
import { createCatalog } from './load-environments.ts';
import { EnvironmentMistakes } from './mistakes.ts';
import type { WatchedFolder } from './watched-folder.ts';

/**
 * How often the folder is looked at, and the others are heard: a change is in force everywhere within some three of these.
 * A look at forty files takes 3 ms of a core.
 */
export const agreeMs = 2_000;

export type AgreedDeps = {
  readonly folder: WatchedFolder;
  readonly catalogs: CatalogStore;
  readonly published: Pick<EnvironmentStore, 'publish' | 'load'>;
  /** This process, among all of its fleet. */
  readonly holder: string;
  readonly log: Log;
};

type Offer = { readonly digest: string; readonly catalog: EnvironmentCatalog };

/**
 * The environments that the whole fleet goes by: what the folder of this process says, until that of another says
 * something newer. Where fleet state cannot be asked, or what it has may not be used here, everything stays as it was.
 */
export class AgreedEnvironments implements EnvironmentCatalog {
  readonly #deps: AgreedDeps;
  #own: Offer;
  #ownSinceMs: number | null = null;
  #inForce: Offer;
  /** What is newest and cannot be used here; it is not tried again until this process' own policy changes. */
  #refused: { readonly digest: string; readonly because: string } | null = null;
  #agreeing: Promise<void> | null = null;
  /** Whether this process' own folder counts for others: from its first step until it leaves. */
  #counts: 'not yet' | 'yes' | 'no more' = 'not yet';

  constructor(deps: AgreedDeps) {
    this.#deps = deps;
    this.#own = offerOf(deps.folder.catalog);
    this.#inForce = this.#own;
  }

  newest(name: EnvironmentName): Environment | undefined {
    return this.#inForce.catalog.newest(name);
  }

  byVersion(version: EnvironmentVersion): Environment | undefined {
    return this.#inForce.catalog.byVersion(version) ?? this.#own.catalog.byVersion(version);
  }

  all(): readonly Environment[] {
    return this.#inForce.catalog.all();
  }

  permitted(environment: Environment): Permission {
    return this.#own.catalog.permitted(environment);
  }

  /**
   * Looks at the folder and agrees with the others; the first step is for a process that serves, because what one that
   * cannot start has in its folder is no news for the fleet. Throws what fleet state throws.
   */
  async step(): Promise<void> {
    const { folder, log } = this.#deps;
    if (this.#counts === 'not yet') this.#counts = 'yes';
    const seen = await folder.look();
    if (seen === 'changed') this.#takeOwn(offerOf(folder.catalog));
    if (seen === 'mistaken') {
      const error = folder.mistake?.message ?? '';
      log.error('the folder of environments has changed and cannot be used; they stay as they were', {
        error,
      });
    }
    await this.agree();
  }

  /** Asks for the newest; who asks meanwhile gets the same answer. Throws what fleet state throws. */
  agree(): Promise<void> {
    this.#agreeing ??= this.#agree().finally(() => {
      this.#agreeing = null;
    });
    return this.#agreeing;
  }

  /** From now on this process' own folder counts for nobody: an upgrade or a rollback waits for no process that ends. */
  async leave(): Promise<void> {
    this.#counts = 'no more';
    await this.#deps.catalogs.leave(this.#deps.holder);
  }

  inForce(): EnvironmentsInForce {
    const { digest } = this.#inForce;
    return {
      digest,
      from: digest === this.#own.digest ? 'own folder' : 'another process',
      trouble: this.#trouble(),
    };
  }

  #trouble(): string | null {
    const { mistake } = this.#deps.folder;
    if (mistake !== null) return `the folder of environments cannot be used: ${placesOf(mistake)}`;
    if (this.#refused === null) return null;
    return 'the newest environments of the fleet are beyond the policy of this process; its log says which';
  }

  #takeOwn(own: Offer): void {
    const before = this.#own.digest;
    this.#own = own;
    if (before !== own.digest) this.#ownSinceMs = null;
    this.#refused = null;
    // Others may have something newer; but what they have must be held to the policy of now.
    this.#use(own);
  }

  async #agree(): Promise<void> {
    const own = this.#own;
    const newest = await this.#newest(own);
    if (newest === null || own !== this.#own) return;
    if (newest !== this.#refused?.digest) this.#refused = null;
    if (newest === own.digest) return this.#use(own);
    if (newest !== this.#inForce.digest && this.#refused === null) await this.#adopt(newest, own);
  }

  async #newest(own: Offer): Promise<string | null> {
    const { catalogs, holder } = this.#deps;
    if (this.#counts !== 'yes') return catalogs.leave(holder);
    const hold = () => catalogs.hold(holder, own.digest, this.#ownSinceMs);
    const held = (await hold()) ?? (await this.#publish(own).then(hold));
    if (held === null) return null;
    this.#ownSinceMs = held.sinceMs;
    return held.newest;
  }

  async #publish({ digest, catalog }: Offer): Promise<void> {
    const { catalogs, published } = this.#deps;
    await Promise.all(catalog.all().map((environment) => published.publish(environment)));
    const entries = catalog.all().map(({ version, pool }) => ({ version, pool }));
    await catalogs.publish(digest, entries);
  }

  async #adopt(digest: string, own: Offer): Promise<void> {
    const entries = await this.#deps.catalogs.entries(digest);
    const found = await Promise.all((entries ?? []).map((entry) => this.#find(entry, own)));
    // Not all of it is there, or this process' own folder has changed meanwhile: the next step tries again.
    if (entries === null || found.includes(null) || own !== this.#own) return;
    const refused = found.flatMap((one) => (one?.kind === 'refused' ? [one.because] : []));
    if (refused.length > 0) return this.#refuse(digest, refused.join('; '));
    const environments = found.flatMap((one) => (one?.kind === 'permitted' ? [one.environment] : []));
    this.#use({ digest, catalog: createCatalog(environments) });
  }

  async #find({ version, pool }: CatalogEntry, own: Offer): Promise<Permission | null> {
    const environment = own.catalog.byVersion(version) ?? (await this.#deps.published.load(version));
    if (environment === null) return null;
    const permission = own.catalog.permitted({ ...environment, pool });
    if (permission.kind === 'permitted') return permission;
    return { ...permission, because: `${environment.name}: ${permission.because}` };
  }

  #refuse(digest: string, because: string): void {
    this.#refused = { digest, because };
    this.#deps.log.error(
      'the newest environments of the fleet are beyond the policy of this process; its own stay as they were',
      { digest, because },
    );
  }

  #use(offer: Offer): void {
    const isNew = offer.digest !== this.#inForce.digest;
    this.#inForce = offer;
    if (!isNew) return;
    const { from, digest } = this.inForce();
    this.#deps.log.info('the environments have changed', { digest, from, count: offer.catalog.all().length });
  }
}

const offerOf = (catalog: EnvironmentCatalog): Offer => ({ digest: catalogDigest(catalog.all()), catalog });

/** Anybody may read this, so it says where and not what; the log has the sentences. */
function placesOf(mistake: Error): string {
  if (!(mistake instanceof EnvironmentMistakes)) return 'it cannot be read; the log says why';
  return mistake.mistakes.map(({ file, line }) => `${file}:${line}`).join(', ');
}
