import type { SandboxId } from '../model/ids.ts';
import type { Clock } from '../ports/clock.ts';
import type { PoolStore } from '../ports/fleet/pool.ts';
import type { Metrics } from '../ports/metrics.ts';
import type { SandboxProvider } from '../ports/sandbox-provider.ts';
import { eachOf } from '../waiting/each-of.ts';
import type { SandboxAccount } from './sandbox-account.ts';

export type DrainTools = {
  readonly pool: Pick<PoolStore, 'draining' | 'takeErrands' | 'forget'>;
  readonly provider: Pick<SandboxProvider, 'destroy'>;
  readonly account: Pick<SandboxAccount, 'isGone'>;
  readonly metrics: Pick<Metrics, 'sandboxDestroyed'>;
  readonly clock: Pick<Clock, 'monotonicMs'>;
};

/** Sandboxes looked at in one pass: a whole training step's worth, and a bound for what is remembered of them. */
const batch = 512;
/** At once in flight to the provider; more only queues there. */
const width = 16;
/** A removal that was accepted and did not happen is asked for again after this. */
const askAgainMs = 10_000;

/**
 * Destroys what is on its way out, of several controllers one at a time, and forgets it once the provider has said that it is gone. What is gone without
 * such a word (it never ran, or nobody watched) is forgotten by the comparison with the provider's own list.
 */
export function createDrain(tools: DrainTools): () => Promise<void> {
  const askedAtMs = new Map<SandboxId, number>();

  return async () => {
    const draining = await tools.pool.draining(batch);
    keepOnly(askedAtMs, draining);
    const nowMs = tools.clock.monotonicMs();
    const due = draining.filter(
      (sandbox) => isDue(askedAtMs.get(sandbox), nowMs) || tools.account.isGone(sandbox),
    );
    const gone = due.filter((sandbox) => tools.account.isGone(sandbox));
    await eachOf(gone, width, (sandbox) => tools.pool.forget(sandbox));
    const there = due.filter((sandbox) => !gone.includes(sandbox));
    const ours = await tools.pool.takeErrands('destroy', there);
    await eachOf(ours, width, async (sandbox) => {
      await tools.provider.destroy(sandbox);
      // Not the pass's own time: where five hundred go at once, the last is asked for seconds after the first.
      askedAtMs.set(sandbox, tools.clock.monotonicMs());
      tools.metrics.sandboxDestroyed();
    });
  };
}

const isDue = (askedAtMs: number | undefined, nowMs: number) =>
  askedAtMs === undefined || nowMs - askedAtMs >= askAgainMs;

function keepOnly(askedAtMs: Map<SandboxId, number>, draining: readonly SandboxId[]): void {
  const still = new Set(draining);
  for (const sandbox of askedAtMs.keys()) if (!still.has(sandbox)) askedAtMs.delete(sandbox);
}
