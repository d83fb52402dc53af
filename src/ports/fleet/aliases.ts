import type { TenantId } from '#src/model/ids.ts';

/** What an alias stands for: an environment, and the image for a row of it; null where the environment has its own. */
export type Named = { readonly environment: string; readonly image: string | null };

/** Names that a tenant gave to images, so that sandboxes may be opened by them: templates of the E2B face. */
export interface AliasStore {
  /** False where the tenant has as many as it may, and this one is new. */
  name(tenant: TenantId, alias: string, named: Named): Promise<boolean>;
  /** Null: nobody named it, or not for so long that it was forgotten. Asking keeps all of the tenant's. */
  named(tenant: TenantId, alias: string): Promise<Named | null>;
}
