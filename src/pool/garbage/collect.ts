import type { SandboxId } from '#src/model/ids.ts';
import type { Clock } from '#src/ports/clock.ts';
import type { LifecycleStore } from '#src/ports/fleet/lifecycle.ts';
import type { PoolStore } from '#src/ports/fleet/pool.ts';
import type { Log } from '#src/ports/log.ts';
import type { Metrics } from '#src/ports/metrics.ts';
import type { ProvidedSandbox, SandboxProvider } from '#src/ports/sandbox-provider.ts';
import type { KnownSandboxes } from '../known-sandboxes.ts';
import { eachOf } from '#src/waiting/each-of.ts';
import { ask, type AskTools } from './ask.ts';
import { decide, type Decision, type Difference, differences, garbage, type Patience } from './judge.ts';

export type CollectTools = AskTools & {
  readonly provider: Pick<SandboxProvider, 'list' | 'destroy'>;
  readonly known: KnownSandboxes;
  readonly pool: Pick<PoolStore, 'known' | 'forget'>;
  readonly lifecycle: Pick<LifecycleStore, 'lose'>;
  readonly patience: () => Patience;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly metrics: Pick<Metrics, 'garbageFound' | 'sandboxLost'>;
  readonly log: Log;
};

/** Differences handled at once: each may wait seconds for a sandbox that does not answer. */
const width = 16;

/** Compares the provider's own list with what fleet state knows, and settles what has differed for long enough. */
export function createCollector(tools: CollectTools): (signal: AbortSignal) => Promise<void> {
  const sinceMs = new Map<string, number>();

  return async (signal) => {
    const listed = (await tools.provider.list()).filter((one) => one.phase !== 'gone');
    const known = await tools.known.read();
    const provided = new Map(listed.map((one) => [one.sandbox, one]));
    const found = differences([...provided.keys()], known);
    const nowMs = tools.clock.monotonicMs();
    rememberFirst(sinceMs, found, nowMs);
    await eachOf(found, width, async (difference) => {
      const lastingMs = nowMs - (sinceMs.get(nameOf(difference)) ?? nowMs);
      const decision = decide(difference, lastingMs, tools.patience());
      await settle(tools, decision, difference.sandbox, provided.get(difference.sandbox), lastingMs, signal);
    });
  };
}

async function settle(
  tools: CollectTools,
  decision: Decision,
  sandbox: SandboxId,
  stranger: ProvidedSandbox | undefined,
  lastingMs: number,
  signal: AbortSignal,
): Promise<void> {
  if (decision === 'forget') return tools.pool.forget(sandbox);
  if (decision === 'lose') return lose(tools, sandbox, lastingMs);
  if (decision === 'ask' && stranger !== undefined) return examine(tools, stranger, lastingMs, signal);
}

/** Whichever life it was: with the object every one of them is gone. */
async function lose(
  { lifecycle, metrics, log }: CollectTools,
  sandbox: SandboxId,
  lastingMs: number,
): Promise<void> {
  const evidence = { observed: 'missing from the provider', missingMs: Math.round(lastingMs) };
  const effect = await lifecycle.lose(sandbox, null, 'deleted', evidence);
  metrics.sandboxLost('deleted', effect.kind);
  log.warn('sandbox lost', { sandbox, cause: 'deleted', effect: effect.kind, ...evidence });
}

async function examine(
  tools: CollectTools,
  stranger: ProvidedSandbox,
  lastingMs: number,
  signal: AbortSignal,
): Promise<void> {
  // What a version before has started is heard of late: whoever is asked, and destroyed, must be nobody's now.
  const { sandbox } = stranger;
  if ((await tools.pool.known([sandbox])).has(sandbox)) return;
  const answer = await ask(tools, stranger, signal);
  const reason = garbage(answer, lastingMs, tools.patience());
  if (reason === null) return;
  await tools.provider.destroy(sandbox);
  tools.metrics.garbageFound(reason);
  tools.log.warn('destroyed a sandbox that fleet state does not know', { sandbox, reason });
}

// By kind too: a stranger that becomes known and then goes missing begins anew.
const nameOf = ({ kind, sandbox }: Difference) => `${kind} ${sandbox}`;

function rememberFirst(sinceMs: Map<string, number>, found: readonly Difference[], nowMs: number): void {
  const names = new Set(found.map(nameOf));
  for (const name of sinceMs.keys()) if (!names.has(name)) sinceMs.delete(name);
  for (const name of names) if (!sinceMs.has(name)) sinceMs.set(name, nowMs);
}
