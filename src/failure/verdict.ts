import type { FailureCode, LossCause } from './codes.ts';
import type { Evidence } from './failure.ts';

/** What the trainer may do with a rollout. `discard` names the one code that decided, and the cause where known. */
export type Verdict =
  | { readonly kind: 'scorable' }
  | {
      readonly kind: 'discard';
      readonly code: FailureCode;
      readonly cause?: string;
      /** It cannot be told whether the policy's command or answer did it. */
      readonly suspected?: Suspected;
    };

/** Why a rollout can never be scored, as fleet state recorded it. Null: not known. */
export type Discarded = {
  readonly code: FailureCode;
  readonly cause: LossCause | null;
  readonly suspected: Suspected | null;
  readonly evidence: Evidence;
  readonly atMs: number | null;
};

/** The verdict of a rollout in the words of reports, events and trainers. Fleet state has decided it. */
export function verdictOf({ discarded }: { readonly discarded: Discarded | null }): Verdict {
  if (discarded === null) return { kind: 'scorable' };
  const { code, cause, suspected } = discarded;
  return {
    kind: 'discard',
    code,
    ...(cause === null ? {} : { cause }),
    ...(suspected === null ? {} : { suspected }),
  };
}

/**
 * What a verdict is marked with when nobody can tell whether the policy was behind it: a command of its own; what it
 * answered, of which a judge may be made to fail; or its use of a backend that tools depend on.
 */
export type Suspected = 'command' | 'answer' | 'dependency';

/** The mark that a failure's evidence brings along, from whoever saw it. */
export function suspectedIn({ suspected }: Evidence): Suspected | null {
  return suspected === 'command' || suspected === 'answer' || suspected === 'dependency' ? suspected : null;
}

/**
 * Whether a command of the policy could have brought the loss about, also one that it left running in the background,
 * without any proof of it. Proof makes it the model's own failure instead (`sandbox_broken`), and no discard. `by_evidence`:
 * the evidence of such a loss is marked if its witness cannot rule the policy out.
 */
export const mayBeCommand: Readonly<Record<LossCause, boolean | 'by_evidence'>> = {
  // Nothing says who sent the signal, or who starved it.
  sandboxd_killed: true,
  sandbox_exited: true,
  boot_changed: true,
  node_disk_full: true,
  node_limit_used_up: true,
  // After a dispatched call these are proof; without the record of one, nobody can rule a command out.
  out_of_memory: true,
  out_of_disk: true,
  // In pods a node that runs short is no proof for a sandbox: its writes and its memory may have made the node short.
  evicted: 'by_evidence',
  node_out_of_memory: 'by_evidence',
  // Only if the request failed because its sandbox took no connection.
  request_lost: 'by_evidence',
  // A pod may have taken its node down, by what no limit of a pod counts.
  node_lost: 'by_evidence',
  // Decided outside of the sandbox, and the evidence names by whom.
  deleted: false,
  preempted: false,
  node_drained: false,
  pod_replaced: false,
  expired: false,
};

/** What a witness adds to the evidence of a loss that the policy may have caused. It is then no proof against the policy either. */
export const mayBePolicys = { suspected: 'command' } as const satisfies { readonly suspected: Suspected };

/** Such discards stay infrastructure's, and are counted, so that a policy that learns them is seen. */
export function suspectedOf(
  code: FailureCode,
  cause: LossCause | null,
  evidence: Evidence = {},
): Suspected | null {
  // A sandbox that went silent while it ran a command may have been starved by it.
  if (code === 'outcome_unknown') return 'command';
  if (code !== 'sandbox_lost' || cause === null) return null;
  return mayBeCommand[cause] === true ? 'command' : suspectedIn(evidence);
}
