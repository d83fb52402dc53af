import type { Environment } from '#src/model/environment.ts';
import type { EnvironmentVersion } from '#src/model/ids.ts';

/**
 * What the folders of environments of all processes say, and which of them the fleet goes by. A folder counts as a
 * whole, so that an environment that was removed is gone everywhere, and nobody has half of a change.
 *
 * The newest is what came last of all that some process still has. So during an upgrade the new folder wins from its
 * first process on, however often an old process says what it has or is started again; and an older folder is the newest
 * again when nobody has the other any more, which is what a rollback is.
 */
export interface CatalogStore {
  /**
   * Says what this process' own folder holds, and hears what the fleet goes by; to be repeated, because who is silent
   * for 30 s has nothing any more. `sinceMs` is what the last answer said of the same catalog: a Redis that has
   * forgotten learns it anew. Null: fleet state does not know that catalog; publish it first.
   */
  hold(holder: string, catalog: string, sinceMs: number | null): Promise<HeldCatalog | null>;
  /** Holds nothing, or nothing any more, and hears the newest all the same; null: nobody holds any. */
  leave(holder: string): Promise<string | null>;
  /** Its environments are to be published before. */
  publish(catalog: string, entries: readonly CatalogEntry[]): Promise<void>;
  entries(catalog: string): Promise<readonly CatalogEntry[] | null>;
}

export type HeldCatalog = {
  /** Digest of what the fleet goes by. */
  readonly newest: string;
  /** Redis' own time at which somebody first had the catalog that is held. */
  readonly sinceMs: number;
};

/** Versions have no pool of their own, so it stands beside. */
export type CatalogEntry = { readonly version: EnvironmentVersion; readonly pool: Environment['pool'] };

/** For operators: by what this process goes, and what is wrong; null: nothing. */
export type EnvironmentsInForce = {
  readonly digest: string;
  readonly from: 'own folder' | 'another process';
  readonly trouble: string | null;
};
