import { rolloutId, runId, tenantId } from '#src/model/ids.ts';
import { rolloutKey } from '#src/model/rollout.ts';

/** A planned rollout's key in fleet state and at the sandboxes. */
export function ownerKey(run: string, rollout: string): string {
  const owner = {
    tenant: tenantId('lab'),
    run: runId(run),
    rollout: rolloutId(rollout),
    attempt: 1,
    role: 'policy',
  };
  return rolloutKey({ ...owner, role: 'policy' });
}
