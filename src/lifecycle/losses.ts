import type { LossCause } from '../failure/codes.ts';
import type { Evidence } from '../failure/failure.ts';
import type { SandboxId } from '../model/ids.ts';
import type { LifecycleStore } from '../ports/fleet/lifecycle.ts';
import type { Log } from '../ports/log.ts';
import type { Metrics } from '../ports/metrics.ts';
import type { ProviderEvent } from '../ports/sandbox-provider.ts';

export type LossTools = {
  readonly lifecycle: Pick<LifecycleStore, 'lose'>;
  readonly metrics: Pick<Metrics, 'sandboxLost'>;
  readonly log: Log;
};

export type Losses = {
  /** Notes an event of the provider's watch; never waits. */
  apply(event: ProviderEvent): void;
  /** Tells fleet state of every end noted so far, and returns how many. What could not be told is kept for the next time. */
  tell(): Promise<number>;
};

type End = { readonly cause: LossCause; readonly evidence: Evidence };

/**
 * Takes the ends of sandboxes to the one door of loss. Noting and telling are apart, because an end that is seen while
 * Redis is away must not be dropped: a rollout would go on waiting for a sandbox that is gone.
 */
export function createLosses(tools: LossTools): Losses {
  const untold = new Map<SandboxId, End>();
  const running = new Set<SandboxId>();

  const ended = (sandbox: SandboxId, end: End) => {
    running.delete(sandbox);
    untold.set(sandbox, end);
  };

  const apply = (event: ProviderEvent) => {
    if (event.kind === 'running') running.add(event.sandbox);
    else if (event.kind === 'gone') ended(event.sandbox, event);
    else if (event.kind === 'listed') {
      const listed = runningOf(event);
      for (const sandbox of running) if (!listed.has(sandbox)) ended(sandbox, missedEnd);
      for (const sandbox of listed) running.add(sandbox);
    }
  };

  const tell = async () => {
    let told = 0;
    for (const [sandbox, end] of untold) {
      await loseOnce(tools, sandbox, end);
      untold.delete(sandbox);
      told += 1;
    }
    return told;
  };

  return { apply, tell };
}

/** The watch was away while it ended, so nobody knows how. */
const missedEnd: End = { cause: 'deleted', evidence: { observed: 'no longer listed by the provider' } };

function runningOf(event: Extract<ProviderEvent, { kind: 'listed' }>): ReadonlySet<SandboxId> {
  return new Set(event.sandboxes.filter((one) => one.phase === 'running').map((one) => one.sandbox));
}

/** Takes one to the door. Any number of controllers may know of it: only the first to tell counts and logs it. */
export async function loseOnce(
  { lifecycle, metrics, log }: LossTools,
  sandbox: SandboxId,
  { cause, evidence }: End,
): Promise<void> {
  const effect = await lifecycle.lose(sandbox, null, cause, evidence);
  // Nobody's, or told already.
  if (effect.kind === 'none') return;
  metrics.sandboxLost(cause, effect.kind);
  log.warn('sandbox lost', { sandbox, cause, effect: effect.kind, rollout: effect.rollout.key });
}
