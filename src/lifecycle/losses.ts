import type { SandboxId } from '../model/ids.ts';
import type { End, SandboxAccount } from '../pool/sandbox-account.ts';
import type { LifecycleStore } from '../ports/fleet/lifecycle.ts';
import type { Log } from '../ports/log.ts';
import type { Metrics } from '../ports/metrics.ts';

export type LossTools = {
  readonly lifecycle: Pick<LifecycleStore, 'lose'>;
  readonly metrics: Pick<Metrics, 'sandboxLost'>;
  readonly log: Log;
};

/**
 * Takes the ends of sandboxes to the one door of loss, and returns how many. Noting and telling are apart, because an end
 * that is seen while Redis is away must not be dropped: a rollout would go on waiting for a sandbox that is gone.
 */
export async function tellLosses(tools: LossTools, { untold }: SandboxAccount): Promise<number> {
  let told = 0;
  for (const [sandbox, end] of untold) {
    await loseOnce(tools, sandbox, end);
    untold.delete(sandbox);
    told += 1;
  }
  return told;
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
