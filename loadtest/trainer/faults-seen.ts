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
 *   model       nothing of ours was hit and its policy had broken something: it hides behind infrastructure
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
  return truth.calls.some(({ mischief }) => mischief !== null) ? 'model' : 'beyond';
}

/** Its last try ended by its own clock. */
function hungUp({ ending }: RolloutTruth): boolean {
  return ending.kind === 'discarded' && ending.code === 'connection_lost' && /timeout/i.test(ending.message);
}

function hitSandbox({ hit }: FaultDone, truth: RolloutTruth, sandbox: string | null): boolean {
  return 'sandbox' in hit && (hit.rollout === truth.rollout || hit.sandbox === sandbox);
}

function partWasAway({ hit, fromMs, untilMs }: FaultDone, truth: RolloutTruth): boolean {
  // A retry goes to the other gateway, so that the loss of one is no excuse.
  if ('sandbox' in hit || hit.part.endsWith('gateway')) return false;
  const lastSentMs = Math.min(
    ...truth.calls.filter(({ shown }) => shown === null).map(({ sentMs }) => sentMs),
    truth.calls.at(-1)?.endedMs ?? truth.startedMs,
  );
  return fromMs <= truth.endedMs && untilMs >= lastSentMs;
}
