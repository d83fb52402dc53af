import { runId, type RunId, tenantId, type TenantId } from '#src/model/ids.ts';

/** A run as scripts know it: the first two parts of its rollouts' keys. */
export function runName(tenant: TenantId, run: RunId): string {
  return `${encodeURIComponent(tenant)}/${encodeURIComponent(run)}`;
}

/** The inverse of {@link runName}. */
export function runOf(name: string): { readonly tenant: TenantId; readonly run: RunId } {
  const [tenant = '', run = ''] = name.split('/').map(decodeURIComponent);
  return { tenant: tenantId(tenant), run: runId(run) };
}
