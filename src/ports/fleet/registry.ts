import type { Environment } from '#src/model/environment.ts';
import type { EnvironmentVersion, TemplateDigest, TenantId } from '#src/model/ids.ts';
import type { TemplateChoice } from '#src/model/template-choice.ts';

/** Environment versions that running runs may still be pinned to, also after their files have changed. */
export interface EnvironmentStore {
  publish(environment: Environment): Promise<void>;
  load(version: EnvironmentVersion): Promise<Environment | null>;
  /** Versions that begin so, of whatever environment, among those that `published` has. */
  beginning(prefix: string): Promise<readonly EnvironmentVersion[]>;
  /** Every version published in the last 14 days. */
  published(): Promise<readonly Environment[]>;
  /** Tells controllers of a template that a row or a demand made; claims and announcements do so themselves. */
  choose(template: TemplateDigest, chosen: TemplateChoice): Promise<void>;
  /**
   * Templates that rows and demands made: those chosen since `sinceMs` of an earlier answer, or all that are still of use (null).
   * One is forgotten ten minutes after it was last chosen, when nobody waits for it, announces it or has a sandbox of it.
   */
  chosen(sinceMs: number | null): Promise<ChosenTemplates>;
}

type ChosenTemplates = {
  /** Redis' own time of this answer. */
  readonly atMs: number;
  readonly templates: readonly (TemplateChoice & { readonly template: TemplateDigest })[];
};

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
   * forgotten learns it again. Null: fleet state does not know that catalog; publish it first.
   */
  hold(holder: string, catalog: string, sinceMs: number | null): Promise<HeldCatalog | null>;
  /** Holds nothing, or nothing any more, and hears the newest all the same; null: nobody holds any. */
  leave(holder: string): Promise<string | null>;
  /** Its environments are to be published before. */
  publish(catalog: string, entries: readonly CatalogEntry[]): Promise<void>;
  entries(catalog: string): Promise<readonly CatalogEntry[] | null>;
}

type HeldCatalog = {
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

/** What an alias stands for: an environment, and the image for a row of it; null where the environment has its own. */
export type Named = {
  readonly environment: string;
  readonly image: string | null;
  /** What its sandboxes run before their client receives them, as text for a shell. */
  readonly script?: string;
  /** Where commands start, if not where the image says. */
  readonly workdir?: string;
  readonly namedAtMs?: number;
};

/** What the tags of a name stand for. Most names have the tag `default` alone. */
export type NamedByTag = ReadonlyMap<string, Named>;

/** Names that a tenant gave to images, so that sandboxes may be opened by them: templates of the E2B face. */
export interface AliasStore {
  /** False if this one is new, and the tenant has as many names or the name as many tags as it may. */
  name(tenant: TenantId, alias: string, tag: string, named: Named): Promise<boolean>;
  /** Empty if the name is unknown, or was forgotten after its time. Asking keeps all of the tenant's. */
  named(tenant: TenantId, alias: string): Promise<NamedByTag>;
}
