import type { Execution, Truth } from '../sandbox/truth.ts';
import type { RedisHost } from '../fleet/redis-line.ts';

/**
 * What ran and can be known of: a Redis that forgets is told by the sandboxes, so that what ran in one that was gone by
 * then, or did not answer, is known to nobody. Such a rollout may begin anew; that it is not scored for what nobody knows
 * is another invariant.
 */
export function withinMemory(truth: Truth, { replacedMs, unsure }: RedisHost): readonly Execution[] {
  const forgottenMs = replacedMs.at(-1);
  if (forgottenMs === undefined) return truth.executions;
  return truth.executions.filter(({ sandbox, boot, startedMs }) => {
    if (unsure.has(sandbox)) return false;
    const endedMs = truth.lifeOf(sandbox, boot)?.endedMs ?? null;
    return startedMs > forgottenMs || endedMs === null || endedMs > forgottenMs + writtenBackMs;
  });
}

/** Whoever lives so long after Redis was replaced has been asked. */
const writtenBackMs = 20_000;
