import type { SandboxId } from '#src/model/ids.ts';
import type { Launch, PoolStore, PoolTarget } from '#src/ports/fleet/pool.ts';

/** Reserves at most one launch; null: nothing was to be started. */
export async function reserveOne(
  pool: Pick<PoolStore, 'reserve'>,
  sandbox: SandboxId,
  targets: readonly PoolTarget[],
  startBudget: number,
  startTimeoutMs: number,
): Promise<Launch | null> {
  const { launches } = await pool.reserve([sandbox], targets, startBudget, startTimeoutMs);
  return launches[0] ?? null;
}
