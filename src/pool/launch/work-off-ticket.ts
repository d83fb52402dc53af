import type { SandboxId } from '#src/model/ids.ts';
import type { LaunchReservation, PoolStore } from '#src/ports/fleet/pool.ts';
import type { Log } from '#src/ports/log.ts';
import type { LaunchEnd, Ticket } from '#src/ports/launch-queue.ts';
import type { Metrics } from '#src/ports/metrics.ts';
import { type PoolPlan, type PoolPlans, slotTimeoutMs, targetsOf } from '../plans.ts';
import { classifyStart, type LaunchFailure } from './classify.ts';
import { type Started, type StartProgress, startSandbox, type StartTools } from './start.ts';

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

/** Throws when it must be given to another worker. */
export async function workOffTicket(
  tools: LaunchTools,
  ticket: Ticket,
  signal: AbortSignal,
): Promise<LaunchEnd> {
  signal.throwIfAborted();
  const plans = tools.plans();
  const reservation = await tools.pool.reserve(
    ticket.name,
    tools.newSandbox(),
    targetsOf(plans),
    tools.startBudget,
    slotTimeoutMs(plans),
  );
  if (reservation === null) return { kind: 'nothing' };
  ticket.reserved(reservation);
  const plan = plans.get(reservation.template);
  if (plan === undefined) return unknownTemplate(tools, reservation);
  return launchReserved(tools, reservation, plan, ticket, signal);
}

async function launchReserved(
  tools: LaunchTools,
  { sandbox }: LaunchReservation,
  { template }: PoolPlan,
  ticket: Ticket,
  signal: AbortSignal,
): Promise<LaunchEnd> {
  const beganMs = tools.clock.monotonicMs();
  const tookMs = () => tools.clock.monotonicMs() - beganMs;
  const progress: StartProgress = {
    step: 'create',
    waitingOut: null,
    entered: (step) => ticket.stands(step),
  };
  let started: Started;
  try {
    started = await startSandbox(tools, sandbox, template, progress, signal);
  } catch (thrown) {
    if (signal.aborted) throw thrown;
    return failed(tools, sandbox, classifyStart(thrown, progress), tookMs());
  }
  if (started.kind === 'taken') return { kind: 'ready', rollout: null };
  const rollout = await tools.pool.ready(sandbox, started.boot, started.address);
  const type = rollout === null ? 'warm' : 'cold';
  tools.metrics.launchEnded({ type, result: 'ready' }, tookMs());
  tools.log.debug('sandbox ready', { sandbox, type, tookMs: Math.round(tookMs()) });
  return { kind: 'ready', rollout };
}

async function failed(
  { pool, metrics, log }: LaunchTools,
  sandbox: SandboxId,
  { code, message, reason, evidence }: LaunchFailure,
  tookMs: number,
): Promise<LaunchEnd> {
  metrics.launchEnded({ type: 'failed', result: code }, tookMs);
  log.warn('launch failed', { sandbox, code, reason: message, ...evidence });
  await pool.launchFailed(sandbox, code, message, reason);
  return { kind: 'failed', code, message };
}

// Fleet state offers only templates that we named as targets, so this is ours to explain, not a template's failure.
function unknownTemplate(tools: LaunchTools, { sandbox, template }: LaunchReservation): Promise<LaunchEnd> {
  const message = `no published environment has the template ${template}`;
  return failed(tools, sandbox, { code: 'start_failed', message, reason: null, evidence: { template } }, 0);
}
