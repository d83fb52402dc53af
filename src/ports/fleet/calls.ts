import type { FailureCode } from '#src/failure/codes.ts';
import type { Evidence } from '#src/failure/failure.ts';
import type { Suspected } from '#src/failure/verdict.ts';
import type { CallId, SandboxId } from '#src/model/ids.ts';
import type { Admitted, Outcome } from '#src/model/outcome.ts';
import type { CallSummary, RolloutRecord } from './records.ts';
import type { Epoch, RolloutKey } from '#src/model/rollout.ts';
import type { ActivationStamp } from './claims.ts';
import type { KeptSetup, SetupEnd } from './setup.ts';

/**
 * A text of a call as fleet state keeps it for a grader, and how long it is as a whole: bytes of arguments, characters of an
 * output. A longer one was cut, or left out where its rollout had no room any more.
 */
export type KeptText = { readonly text: string; readonly whole: number };

export type AdmitRequest = {
  readonly key: RolloutKey;
  readonly call: CallId;
  /** The id of this try: another one each time, without spaces. */
  readonly sender: string;
  readonly tool: string;
  /** sha256 (hex) of name and canonical arguments. */
  readonly digest: string;
  /** The command's own timeout; the lease becomes now + this + idle time. */
  readonly timeoutMs: number;
  readonly idleMs: number;
  /** Null for calls that the budget does not count (exec and files of the native face). */
  readonly budget: { readonly toolCalls: number; readonly rolloutMs: number } | null;
  /** Set once bind and setup are done: moves a claimed rollout to active in the same step. */
  readonly activation: ActivationStamp | null;
  /** Kept where the environment's grader looks at calls; left out elsewhere, and where nobody knows them. */
  readonly arguments?: KeptText;
  /** Its trainer marked it as set-up. */
  readonly setup?: KeptSetup;
};

/** Why a call that is in order is not let in: the model's own doing. */
export type SpentReason = 'budget_spent' | 'too_many_at_once' | 'time_spent';

/** What a repeat of a settled call gets, by its own outcome and the verdict of its rollout. */
export type Repeated =
  /** The gateway that settled it just now has its answer. */
  | { readonly kind: 'brought' }
  /** Its rollout's sandbox has its bytes. */
  | { readonly kind: 'in_journal'; readonly rollout: RolloutRecord }
  /** It was answered and nothing ran: its record says what the answer was. `text`: what a refusal says, if it is kept. */
  | { readonly kind: 'ran_nothing'; readonly rollout: RolloutRecord; readonly text: string | null }
  /** Its bytes went down with the sandbox that the policy broke after it. */
  | { readonly kind: 'output_gone' }
  /** Its bytes are no longer kept. */
  | { readonly kind: 'answer_expired' }
  /** It went down with the sandbox that the policy broke. */
  | { readonly kind: 'broken'; readonly rollout: RolloutRecord }
  /** It has no answer, for this reason. */
  | {
      readonly kind: 'barred';
      readonly code: FailureCode;
      readonly rollout: RolloutRecord;
      /** Whether an earlier try of this call may have run. */
      readonly admitted: Admitted;
    };

/** Of a call that has an answer, wherever that is now. */
export type Answered = Exclude<Repeated, { readonly kind: 'brought' | 'broken' | 'barred' }>;

export type AdmitReply =
  /** Send it. `again`: it was dispatched before (a repeat, or another gateway): the journal attaches it. */
  | {
      readonly kind: 'dispatch';
      readonly rollout: RolloutRecord;
      readonly epoch: Epoch;
      readonly again: boolean;
      /** This admission made the rollout active: true for one of each sandbox that it moves into. */
      readonly activated: boolean;
      /** How much of its time the rollout has left, at least 0; null without a budget. */
      readonly timeLeftMs: number | null;
    }
  | (Answered & { readonly summary: CallSummary })
  | { readonly kind: 'conflict' }
  /** It is marked as set-up, and a call without the mark has come before it. Nothing is changed. */
  | { readonly kind: 'setup_over' }
  | {
      readonly kind: 'refused';
      readonly reason: SpentReason;
      readonly rollout: RolloutRecord;
    }
  /** The policy broke its sandbox: this call went down with it, or comes later. The model's failure. */
  | { readonly kind: 'broken'; readonly rollout: RolloutRecord }
  /** Not active here: never claimed, waiting, claimed with another generation. Claim, then come back. */
  | { readonly kind: 'not_active'; readonly rollout: RolloutRecord | null }
  /** Discarded, closed, expired or grading: `code` says which. `admitted`: whether an earlier try of this call may have run. */
  | {
      readonly kind: 'barred';
      readonly code: FailureCode;
      readonly rollout: RolloutRecord;
      readonly admitted: Admitted;
    };

export type Settlement = {
  readonly key: RolloutKey;
  readonly call: CallId;
  readonly digest: string;
  readonly tool: string;
  readonly outcome: Outcome;
  readonly code: string | null;
  readonly admitted: Admitted;
  readonly exitCode: number | null;
  readonly durationMs: number | null;
  /** Of the background before it, which is added to the rollout's. */
  readonly backgroundMs?: number;
  readonly waitedMs: number;
  readonly outputBytes: number;
  /** False for infrastructure failures. Its sandbox keeps the answer; that of a call that ran nothing follows from its record. */
  readonly isAnswered: boolean;
  /** What a refusal says, if its code does not say it. */
  readonly text?: string;
  /** An infrastructure failure that leaves the state of the rollout unknown. */
  readonly taint: {
    readonly code: FailureCode;
    readonly evidence: Evidence;
    /** The policy may have been behind it. */
    readonly suspected?: Suspected | null;
  } | null;
  /** Settles only a call that fleet state does not have: a call that it has stays as it is, also one that runs. */
  readonly onlyNew?: true;
  /** Its sandbox did not do it, as in `LifecycleStore.unserved`. */
  readonly unserved?: true;
  /** Where it ran, as far as is known. */
  readonly ranIn?: SandboxId;
  readonly idleMs: number;
  /** Whose request it was, for the event log; fleet state does not keep it. */
  readonly keyId?: string | null;
  /** Kept where the environment's grader looks at calls, while the rollout is open. */
  readonly arguments?: KeptText;
  readonly output?: KeptText;
  /** Of a call of the set-up, if a replay can repeat its end. */
  readonly setup?: SetupEnd;
};

/** `first` is true for exactly one settle of a call; everybody else gets what was stored then. */
export type SettleReply = {
  readonly first: boolean;
  readonly summary: CallSummary;
  readonly repeated: Repeated;
  /**
   * Of the call as it is recorded: where it is another than the settlement's, the id had other arguments, and nothing changed.
   * Empty: nobody knows them any more.
   */
  readonly digest: string;
  /** This settlement discarded the rollout: true for one settlement of a rollout at most. */
  readonly tainted: boolean;
};

/** A dispatched call that nobody has settled by its deadline: its gateway is gone, or cannot reach fleet state. */
export type OverdueCall = {
  readonly rollout: RolloutRecord;
  readonly summary: CallSummary;
  readonly digest: string;
  /** When it is handed out next, on Redis' clock, unless it is sent again or settled before. */
  readonly lookAgainAtMs: number;
  readonly setup: boolean;
};

export type RecordedCall = {
  readonly summary: CallSummary;
  readonly digest: string;
  readonly epoch: Epoch | null;
  /** Whether it is set-up that has not ended. */
  readonly setup: boolean;
  /** Null: it has not settled yet. */
  readonly repeated: Repeated | null;
};

/** A call with what it said. Null: nobody has told it, or fleet state has forgotten it. */
export type ToldCall = {
  readonly summary: CallSummary;
  readonly arguments: KeptText | null;
  /** `endedAtMs`: when it settled, on the clock of `startedAtMs`. */
  readonly output: (KeptText & { readonly endedAtMs: number }) | null;
};

/** Calls of a rollout: `received → dispatched → settled`, once each. One script a method; errors as in `claims.ts`. */
export interface CallStore {
  admit(request: AdmitRequest): Promise<AdmitReply>;
  /** Records the outcome exactly once; also of calls that never were dispatched (refused ones). */
  settle(settlement: Settlement): Promise<SettleReply>;
  /**
   * What is recorded of a call; null when it is unknown. Of a rollout that has been over for 40 minutes it is how the call ended
   * and whether it was admitted, without tool, times and the digest of its arguments.
   */
  lookup(key: RolloutKey, call: CallId): Promise<RecordedCall | null>;
  list(key: RolloutKey): Promise<readonly CallSummary[]>;
  /** How much of `rolloutMs` the rollout has left, at least 0: outages are not counted. Null: it never began, or is unknown. */
  timeLeft(key: RolloutKey, rolloutMs: number): Promise<number | null>;
  /** All of an open rollout, in the order in which they began, with what is kept of their texts. */
  transcript(key: RolloutKey): Promise<readonly ToldCall[]>;
  /** Calls whose deadline passed `graceMs` ago, at most `limit`; each is handed out again after `lookAgainMs`. */
  overdue(graceMs: number, lookAgainMs: number, limit: number): Promise<readonly OverdueCall[]>;
  /**
   * Its sandbox never received it: it has no outcome, and a repeat may be sent. `counted`: it takes back what it cost of
   * the budget. False: it was sent again or settled meanwhile.
   */
  withdraw(overdue: OverdueCall, counted: boolean): Promise<boolean>;
  /**
   * The try `sender`, which one `admit` allowed to send the call, has surely not sent it. When no other try is left, the call has no
   * outcome, and a repeat may be sent. A second time changes nothing.
   */
  unsent(key: RolloutKey, call: CallId, sender: string, counted: boolean): Promise<void>;
}
