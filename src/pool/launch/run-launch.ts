import type { SandboxId, TemplateDigest } from '#src/model/ids.ts';
import type { Template } from '#src/model/environment.ts';
import type { Launch, PoolStore } from '#src/ports/fleet/pool.ts';
import type { Log } from '#src/ports/log.ts';
import type { LaunchEnd, LaunchJob } from '#src/ports/launch-queue.ts';
import type { Metrics } from '#src/ports/metrics.ts';
import type { PoolPlan, PoolPlans } from '../plans.ts';
import { classifyStart, type LaunchFailure } from './classify.ts';
import { type Started, type StartProgress, startSandbox, type StartTools } from './start.ts';

/**
 * What the worker that has a launch does:
 *
 *   still starting? (asked only if it may be over) ── no ──▶ done: it is as another worker left it
 *      ▼
 *   start, within its start timeouts ── failed ──▶ written down; slot given back, what was made is drained
 *      ▼
 *   ready: into the pool, or at once to the rollout that waits
 *
 * A worker that stops lets its job fail: the queue gives the job to another, which goes on with the same
 * sandbox. The same happens when fleet state does not answer. Two workers may have one launch when the first was silent for
 * longer than its lock: each step may be done twice, and fleet state takes the first end only.
 */
export type LaunchTools = StartTools & {
  readonly pool: Pick<PoolStore, 'ready' | 'launchFailed' | 'known'>;
  readonly plans: () => PoolPlans;
  /** Another controller may have reserved by versions and templates that this one has not read yet. */
  readonly readPlans: () => Promise<void>;
  readonly metrics: Pick<Metrics, 'launchEnded'>;
  readonly log: Log;
};

/** Throws when it must be given to another worker. */
export async function runLaunch(tools: LaunchTools, job: LaunchJob, signal: AbortSignal): Promise<LaunchEnd> {
  signal.throwIfAborted();
  const { launch } = job;
  const before = job.mayBeOver ? await endBefore(tools, launch.sandbox) : null;
  if (before !== null) return before;
  const plan = await findPlan(tools, launch.template);
  return plan === undefined ? leaveToOthers(tools, launch) : start(tools, job, plan.template, signal);
}

/** How it ended before this worker had it; null: it is still to be done. A sandbox that is over must not be created again. */
async function endBefore({ pool }: LaunchTools, sandbox: SandboxId): Promise<LaunchEnd | null> {
  const known = (await pool.known([sandbox])).get(sandbox);
  if (known?.phase === 'starting') return null;
  return known?.phase === 'ready' ? { kind: 'ready', rollout: known.owner } : { kind: 'over' };
}

async function findPlan(
  { plans, readPlans }: LaunchTools,
  template: TemplateDigest,
): Promise<PoolPlan | undefined> {
  if (!plans().has(template)) await readPlans();
  return plans().get(template);
}

/**
 * While environments are changed, controllers have different ones. The one that has this template reserves another launch at once;
 * that this one could not start it is not the template's failure.
 */
async function leaveToOthers({ pool, log }: LaunchTools, { sandbox, template }: Launch): Promise<LaunchEnd> {
  const code = 'provider_unavailable';
  const message = `the controller that took it has no environment with the template ${template}`;
  log.warn('launch given up', { sandbox, code, reason: message });
  await pool.launchFailed(sandbox, code, message, null);
  return { kind: 'failed', code, message };
}

async function start(
  tools: LaunchTools,
  { launch: { sandbox }, stands }: LaunchJob,
  template: Template,
  signal: AbortSignal,
): Promise<LaunchEnd> {
  const beganMs = tools.clock.monotonicMs();
  const tookMs = () => tools.clock.monotonicMs() - beganMs;
  const progress: StartProgress = { step: 'create', waitingOut: null, entered: stands };
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
