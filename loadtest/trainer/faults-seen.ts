import type { RolloutTruth } from './truth.ts';

/** One fault as it was done. Times are milliseconds since the load test began. */
export type FaultDone = {
  readonly name: string;
  readonly fromMs: number;
  /** When the part was back; the moment itself where nothing comes back. Infinity: not back yet. */
  readonly untilMs: number;
  /** What was hit: a sandbox, whoever holds it, or a part of the fleet. */
  readonly hit: { readonly sandbox: string; readonly rollout: string | null } | { readonly part: string };
};

/**
 * Whose doing a discard was:
 *
 *   forced      a fault hit its sandbox, or a part without a substitute was away while its last request was tried
 *   impatient   the client hung up itself before its command could end, and used up its retries
 *   model       nothing of ours was hit, its policy had broken something, and we answered 5xx: it hides behind infrastructure
 *   beyond      nothing explains it
 */
export type DiscardReason = 'forced' | 'impatient' | 'model' | 'beyond';

export function reasonOf(
  truth: RolloutTruth,
  sandbox: string | null,
  faults: readonly FaultDone[],
): DiscardReason {
  if (faults.some((fault) => hitSandbox(fault, truth, sandbox))) return 'forced';
  if (hungUp(truth)) return 'impatient';
  if (faults.some((fault) => partWasAway(fault, truth))) return 'forced';
  const answered = truth.ending.kind === 'discarded' && truth.ending.code !== 'connection_lost';
  return answered && truth.calls.some(({ mischief }) => mischief !== null) ? 'model' : 'beyond';
}

/** Its last try ended by its own clock. */
function hungUp({ ending }: RolloutTruth): boolean {
  return ending.kind === 'discarded' && ending.code === 'connection_lost' && /timeout/i.test(ending.message);
}

function hitSandbox({ hit }: FaultDone, truth: RolloutTruth, sandbox: string | null): boolean {
  return 'sandbox' in hit && (hit.rollout === truth.rollout || hit.sandbox === sandbox);
}

function partWasAway({ hit, fromMs, untilMs }: FaultDone, truth: RolloutTruth): boolean {
  if ('sandbox' in hit) return false;
  // A retry goes to the other gateway: the loss of one excuses a connection that broke, and no answer of 5xx.
  const connectionLost = truth.ending.kind === 'discarded' && truth.ending.code === 'connection_lost';
  if (hit.part.endsWith('gateway') && !connectionLost) return false;
  const lastSentMs = Math.min(
    ...truth.calls.filter(({ shown }) => shown === null).map(({ sentMs }) => sentMs),
    truth.calls.at(-1)?.endedMs ?? truth.startedMs,
  );
  return fromMs <= truth.endedMs && untilMs >= lastSentMs;
}
