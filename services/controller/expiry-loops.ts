import { settleOverdueCalls } from '#src/calls/settle-overdue.ts';
import { expireRollouts, releaseLapsedRuns, takeBackGrants } from '#src/lifecycle/expiry.ts';
import { createLabeller } from '#src/lifecycle/labels.ts';
import type { KnownSandboxes } from '#src/pool/known-sandboxes.ts';
import type { Loops } from './loops.ts';
import type { PlanBook } from './plan-book.ts';
import type { ControllerPorts } from './ports.ts';

/** Leases are minutes long and grants half a minute: a second late is soon enough, and costs one empty script. */
const dueMs = 1_000;
/** A call whose gateway is gone has been due for half a minute by then; nobody waits for it but a grade. */
const overdueCallsMs = 5_000;
/** A lapsed run is to be released within two minutes; a large one takes several passes. */
const runsMs = 5_000;
/** Owners are to be in the provider's labels within seconds of the claim. */
const labelMs = 2_000;

/** What ends by time, and who owns what, written where it survives us. */
export function createExpiry(
  ports: ControllerPorts,
  loops: Loops,
  { book, known }: { readonly book: PlanBook; readonly known: KnownSandboxes },
): void {
  loops.run('expire', dueMs, () => expireRollouts(ports));
  loops.run('overdue calls', overdueCallsMs, () => settleOverdueCalls(ports));
  loops.run('grants', dueMs, () => takeBackGrants(ports));
  loops.run('runs', runsMs, () => releaseLapsedRuns(ports));
  const hardEndMs: typeof book.hardEndMs = (rollout) => book.hardEndMs(rollout);
  loops.run('labels', labelMs, createLabeller({ ...ports, known, hardEndMs }));
}
