import type { CallStore } from '../ports/fleet/calls.ts';
import type { Clock } from '../ports/clock.ts';
import { Deadline } from '../waiting/deadline.ts';
import { patiently } from '../waiting/patience.ts';
import type { Admissible } from './work.ts';

/** `broken_off`: an error, a lost connection, or a reader that went away; a repeat is a transfer of its own. */
export type TransferEnd = 'done' | 'broken_off';

const storePatienceMs = 60_000;

/** Ends the dispatch of a file transfer, so that its rollout can be graded and can expire. */
export async function settleTransfer(
  deps: { readonly calls: Pick<CallStore, 'settle'>; readonly clock: Clock },
  work: Admissible,
  end: TransferEnd,
): Promise<void> {
  const settlement = {
    key: work.key,
    keyId: work.keyId,
    call: work.call,
    digest: work.digest,
    tool: work.tool,
    outcome: end === 'done' ? ('completed' as const) : ('cancelled' as const),
    code: null,
    admitted: 'yes' as const,
    exitCode: null,
    durationMs: null,
    waitedMs: 0,
    outputBytes: 0,
    answer: null,
    taint: null,
    broken: null,
    idleMs: work.environment.limits.idleMs,
  };
  await patiently(deps.clock, Deadline.in(deps.clock, storePatienceMs), () => deps.calls.settle(settlement));
}
