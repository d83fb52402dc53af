import type { SandboxId } from '../../model/ids.ts';
import type { LaunchReservation, PoolStore } from '../../ports/fleet/pool.ts';
import type { Log } from '../../ports/log.ts';
import type { Metrics } from '../../ports/metrics.ts';
import { slotTimeoutMs, targetsOf } from '../plans.ts';
import type { PoolPlan, PoolPlans } from '../plans.ts';
import { classifyStart } from './classify.ts';
import type { LaunchFailure } from './classify.ts';
import { startSandbox } from './start.ts';
import type { Started, StartProgress, StartTools } from './start.ts';

/**
 * What the holder of a blank ticket does:
 *
 *   reserve ── nothing wanted ──▶ done
 *      │ a sandbox's name and template, and a start slot
 *      ▼
 *   start, within its start timeouts ── failed ──▶ written down; slot given back, what was made is drained
 *      │
 *      ▼
 *   ready: into the pool, or at once to the rollout that waits
 *
 * A worker that is told to stop lets its ticket fail: the queue gives the ticket to another, who gets the same
 * reservation and goes on with the same sandbox. The same happens when fleet state does not answer.
 */
export type LaunchTools = StartTools & {
  readonly pool: Pick<PoolStore, 'reserve' | 'ready' | 'launchFailed'>;
  readonly plans: () => PoolPlans;
  readonly newSandbox: () => SandboxId;
  readonly startBudget: number;
  readonly metrics: Pick<Metrics, 'launchEnded'>;
  readonly log: Log;
};

/** Works off one ticket. `false`: nothing was wanted. Throws when the ticket must be given to another worker. */
export async function launch(tools: LaunchTools, ticket: string, signal: AbortSignal): Promise<boolean> {
  signal.throwIfAborted();
  const plans = tools.plans();
  const reservation = await tools.pool.reserve(
    ticket,
    tools.newSandbox(),
    targetsOf(plans),
    tools.startBudget,
    slotTimeoutMs(plans),
  );
  if (reservation === null) return false;
  const plan = plans.get(reservation.template);
  if (plan === undefined) await unknownTemplate(tools, reservation);
  else await launchReserved(tools, reservation, plan, signal);
  return true;
}

async function launchReserved(
  tools: LaunchTools,
  { sandbox }: LaunchReservation,
  { template }: PoolPlan,
  signal: AbortSignal,
): Promise<void> {
  const beganMs = tools.clock.monotonicMs();
  const tookMs = () => tools.clock.monotonicMs() - beganMs;
  const progress: StartProgress = { step: 'create', waitingOut: null };
  let started: Started;
  try {
    started = await startSandbox(tools, sandbox, template, progress, signal);
  } catch (thrown) {
    if (signal.aborted) throw thrown;
    return failed(tools, sandbox, classifyStart(thrown, progress), tookMs());
  }
  if (started.kind === 'taken') return;
  const rollout = await tools.pool.ready(sandbox, started.boot, started.address);
  const type = rollout === null ? 'warm' : 'cold';
  tools.metrics.launchEnded({ type, result: 'ready' }, tookMs());
  tools.log.debug('sandbox ready', { sandbox, type, tookMs: Math.round(tookMs()) });
}

async function failed(
  { pool, metrics, log }: LaunchTools,
  sandbox: SandboxId,
  { code, message, evidence }: LaunchFailure,
  tookMs: number,
): Promise<void> {
  metrics.launchEnded({ type: 'failed', result: code }, tookMs);
  log.warn('launch failed', { sandbox, code, reason: message, ...evidence });
  await pool.launchFailed(sandbox, code, message, evidence);
}

// Fleet state offers only templates that we named as targets, so this is ours to explain, not a template's failure.
async function unknownTemplate(tools: LaunchTools, { sandbox, template }: LaunchReservation): Promise<void> {
  const message = `no published environment has the template ${template}`;
  await failed(tools, sandbox, { code: 'start_failed', message, evidence: { template } }, 0);
}
