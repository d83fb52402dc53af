import type { Execution, Truth } from '../sandbox/truth.ts';
import type { RedisHost } from '../fleet/redis-line.ts';

/**
 * What ran and can be known of: a Redis that forgets is told by the sandboxes, so that what ran in one that was gone by
 * then is known to nobody, and what ran in one that answers nobody is waited for only so long. Such a rollout may begin
 * anew; that it is not scored for what nobody knows is another invariant.
 */
export function withinMemory(truth: Truth, { replacedMs, unsure }: RedisHost): readonly Execution[] {
  const forgottenMs = replacedMs.at(-1);
  if (forgottenMs === undefined) return truth.executions;
  const isWaitedFor = ({ owner, sandbox }: Execution) =>
    !unsure.has(sandbox) || beganElsewhereMs(truth, owner, sandbox) < forgottenMs + waitedForMs;
  return truth.executions.filter((execution) => {
    const { sandbox, boot, startedMs } = execution;
    if (!isWaitedFor(execution)) return false;
    const endedMs = truth.lifeOf(sandbox, boot)?.endedMs ?? null;
    return startedMs > forgottenMs || endedMs === null || endedMs > forgottenMs + writtenBackMs;
  });
}

/** When its rollout first ran something in another sandbox. */
function beganElsewhereMs(truth: Truth, owner: string, sandbox: string): number {
  const elsewhere = truth.executions.filter((one) => one.owner === owner && one.sandbox !== sandbox);
  return Math.min(...elsewhere.map(({ startedMs }) => startedMs));
}

/** Whoever lives so long after Redis was replaced has been asked. */
const writtenBackMs = 20_000;

/** A silent sandbox that nobody can name holds up unknown rollouts for so long. */
const waitedForMs = 30_000;
