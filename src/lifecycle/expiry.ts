import type { LifecycleStore } from '../ports/fleet/lifecycle.ts';
import type { Log } from '../ports/log.ts';
import type { Timings } from '../model/timings.ts';
import type { Metrics } from '../ports/metrics.ts';

export type ExpiryTools = {
  readonly lifecycle: Pick<LifecycleStore, 'expireDue' | 'takeBackGrants' | 'lapsedRuns' | 'releaseLapsed'>;
  readonly metrics: Pick<Metrics, 'rolloutsExpired' | 'grantsTakenBack'>;
  readonly timings: Pick<Timings, 'grantUnusedMs'>;
  readonly log: Log;
};

/** Ended by one script, so that no script holds Redis for long (some 20 µs each). */
const stepSize = 100;
/** Steps of one pass; the next pass goes on. 10,000 rollouts a pass are more than a fleet has. */
const maxSteps = 100;

/** Closes rollouts that nobody called until their lease ran out, or whose hard life is over. */
export async function expireRollouts({ lifecycle, metrics, log }: ExpiryTools): Promise<void> {
  await inSteps(async () => {
    const expired = await lifecycle.expireDue(stepSize);
    metrics.rolloutsExpired(expired.length);
    for (const { key } of expired) log.info('rollout expired', { rollout: key });
    return expired.length === stepSize;
  });
}

/** Takes back sandboxes that were granted to rollouts whose gateway did not come for them. */
export async function takeBackGrants({ lifecycle, metrics, timings, log }: ExpiryTools): Promise<void> {
  const count = await lifecycle.takeBackGrants(timings.grantUnusedMs);
  metrics.grantsTakenBack(count);
  if (count > 0) log.warn('granted sandboxes were not used in time and were taken back', { count });
}

/** Releases native rollouts of runs whose lease lapsed, in steps; a run that is not done is listed again. */
export async function releaseLapsedRuns({ lifecycle, log }: ExpiryTools): Promise<void> {
  for (const { tenant, run } of await lifecycle.lapsedRuns(stepSize)) {
    log.info('native rollouts released: the lease of their run lapsed', { tenant, run });
    await inSteps(async () => (await lifecycle.releaseLapsed(tenant, run, stepSize)) > 0);
  }
}

async function inSteps(step: () => Promise<boolean>): Promise<void> {
  for (let steps = 0; steps < maxSteps; steps += 1) {
    if (!(await step())) return;
  }
}
