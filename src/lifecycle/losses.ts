import type { SandboxId } from '../model/ids.ts';
import type { End, SandboxAccount, Doubt } from '../pool/sandbox-account.ts';
import type { LifecycleStore } from '../ports/fleet/lifecycle.ts';
import type { Log } from '../ports/log.ts';
import type { Timings } from '../model/timings.ts';
import type { Metrics } from '../ports/metrics.ts';
import type { SandboxAddress } from '../model/rollout.ts';
import type { Clock } from '../ports/clock.ts';
import { LinkError, type SandboxLink } from '../ports/sandbox-link.ts';

type LossTools = {
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
async function loseOnce(
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

type DoubtTools = LossTools & {
  readonly link: Pick<SandboxLink, 'identity'>;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly timings: Pick<Timings, 'sandboxSilenceMs'>;
};

/** sandboxd answers its identity at once, also while commands run. */
const dialMs = 1_000;
/** A whole large node's sandboxes at once: in turns their silence would be noticed as many seconds later. */
const width = 256;

/**
 * Sandboxes that may be lost, and of which the provider cannot tell: their node is silent, or somebody marked them for
 * deletion. Each is dialled every second until the doubt is over:
 *
 *   doubted ── answers ──▶ alive, whatever its node says; `leaving.ts` keeps new rollouts off it
 *      │  ▲                  │
 *      │  └── stops to ──────┘
 *      └── silent for `sandboxSilenceMs` ──▶ lost, with the cause that the provider named
 *
 * Dials each once, and returns how many were lost.
 */
export async function checkDoubts(
  tools: DoubtTools,
  { doubts }: SandboxAccount,
  signal: AbortSignal,
): Promise<number> {
  let lost = 0;
  const queue = doubts.entries();
  const worker = async () => {
    for (const [sandbox, doubt] of queue) {
      if (!(await isLost(tools, sandbox, doubt, signal))) continue;
      doubts.delete(sandbox);
      lost += 1;
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, doubts.size) }, worker));
  return lost;
}

async function isLost(
  tools: DoubtTools,
  sandbox: SandboxId,
  doubt: Doubt,
  signal: AbortSignal,
): Promise<boolean> {
  const nowMs = tools.clock.monotonicMs();
  if (await answers(tools, sandbox, doubt.address, signal)) doubt.silentSinceMs = null;
  else doubt.silentSinceMs ??= nowMs;
  const { sandboxSilenceMs } = tools.timings;
  if (signal.aborted || !isSilentFor(sandboxSilenceMs, doubt, tools.clock.monotonicMs())) return false;
  const evidence = { ...doubt.evidence, observed: 'it did not answer', silentForMs: sandboxSilenceMs };
  await loseOnce(tools, sandbox, { cause: doubt.cause, evidence });
  return true;
}

const isSilentFor = (ms: number, { silentSinceMs }: Doubt, nowMs: number) =>
  silentSinceMs !== null && nowMs - silentSinceMs >= ms;

/** Any answer of this sandbox's daemon counts. Another sandbox at its address means that it is not there. */
async function answers(
  { link }: DoubtTools,
  sandbox: SandboxId,
  address: SandboxAddress,
  signal: AbortSignal,
): Promise<boolean> {
  const inTime = AbortSignal.any([signal, AbortSignal.timeout(dialMs)]);
  try {
    await link.identity({ sandbox, address, boot: null }, inTime);
    return true;
  } catch (thrown) {
    if (thrown instanceof LinkError) return thrown.trouble.kind === 'refused';
    if (inTime.aborted) return false;
    throw thrown;
  }
}
