import type { Execution, Truth } from '../sandbox/truth.ts';
import type { RedisHost } from '../fleet/redis-line.ts';

/**
 * The executions that fleet state can know of. After Redis lost its data, controllers ask the sandboxes. What ran in a
 * sandbox that had ended by then is unknown, also a call that was on its way when Redis was replaced: only the new Redis'
 * own calls are recorded there. A silent sandbox is waited for only so long. Such a rollout may begin again; another
 * invariant says that it is not scored for what is unknown.
 */
export function withinMemory(
  truth: Truth,
  { replacedMs, adoptedMs, unsure }: Pick<RedisHost, 'replacedMs' | 'adoptedMs' | 'unsure'>,
): readonly Execution[] {
  const forgottenMs = replacedMs.at(-1);
  if (forgottenMs === undefined) return truth.executions;
  const isWaitedFor = ({ owner, sandbox }: Execution) => {
    if (!unsure.has(sandbox)) return true;
    const elsewhereMs = beganElsewhereMs(truth, owner, sandbox);
    // A Redis that was replaced after that moment has changed nothing about it.
    const askedMs = replacedMs.findLast((atMs) => atMs <= elsewhereMs);
    return askedMs === undefined || elsewhereMs < askedMs + waitedForMs;
  };
  return truth.executions.filter((execution) => {
    const { sandbox, boot, startedMs } = execution;
    if (!isWaitedFor(execution)) return false;
    const endedMs = truth.lifeOf(sandbox, boot)?.endedMs ?? null;
    const isRecorded = adoptedMs > forgottenMs && startedMs > adoptedMs;
    return isRecorded || endedMs === null || endedMs > forgottenMs + writtenBackMs;
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
