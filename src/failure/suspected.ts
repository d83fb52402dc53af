import type { FailureCode, LossCause } from './codes.ts';

/** What a verdict is marked with when nobody can tell whether the policy's own command was behind it. */
export type Suspected = 'command';

/**
 * Whether a command of the policy could have brought the loss about, also one that it left running in the background,
 * without any proof of it. Proof makes it the model's own failure instead (`sandbox_broken`), and no discard.
 */
const mayBeCommand: Readonly<Record<LossCause, boolean>> = {
  // Nothing says who sent the signal, or who starved it.
  sandboxd_killed: true,
  sandbox_exited: true,
  boot_changed: true,
  // After a dispatched call these are proof; without the record of one, nobody can rule a command out.
  out_of_memory: true,
  out_of_disk: true,
  // Decided outside of the sandbox, and the evidence names by whom.
  deleted: false,
  evicted: false,
  preempted: false,
  node_lost: false,
  pod_replaced: false,
  expired: false,
};

/** Such discards stay infrastructure's, and are counted, so that a policy that learns them is seen. */
export function suspectedOf(code: FailureCode, cause: LossCause | null): Suspected | null {
  // A sandbox that went silent while it ran a command may have been starved by it.
  if (code === 'outcome_unknown') return 'command';
  const isLoss = code === 'sandbox_lost' && cause !== null;
  return isLoss && mayBeCommand[cause] ? 'command' : null;
}
