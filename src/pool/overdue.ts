import type { PoolStore } from '../ports/fleet/pool.ts';
import type { Log } from '../ports/log.ts';
import type { SandboxProvider } from '../ports/sandbox-provider.ts';
import { eachOf } from '../waiting/each-of.ts';

export type OverdueTools = {
  readonly pool: Pick<PoolStore, 'overdueLaunches'>;
  readonly provider: Pick<SandboxProvider, 'destroy'>;
  readonly log: Log;
};

/** At once in flight to the provider; more only queues there. */
const width = 16;

/** Starts that hung, also those of a controller that died: their slots are free again, what they made is destroyed. */
export async function endOverdueLaunches({ pool, provider, log }: OverdueTools): Promise<void> {
  const overdue = await pool.overdueLaunches();
  if (overdue.length > 0)
    log.warn('launches took too long, their slots are free again', { count: overdue.length });
  await eachOf(overdue, width, (sandbox) => provider.destroy(sandbox));
}
