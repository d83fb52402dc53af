import type { BootId, CallId, SandboxId, TemplateDigest } from '#src/model/ids.ts';
import type { Owner, RolloutKey, SandboxAddress } from '#src/model/rollout.ts';
import type { RolloutRecord } from './records.ts';
import type { RolloutLabel } from '#src/protocol/rollout/label.ts';

/** What a Redis that was restarted or promoted still holds of a sandbox. */
export type KeptSandbox = { readonly phase: string; readonly owner: RolloutKey | null };

/** What is to be written back into: one Redis, by the name it has given itself, and what it has kept. */
export type Forgetful = { readonly redis: string; readonly sandboxes: ReadonlyMap<SandboxId, KeptSandbox> };

/** A sandbox that answered, whoever it works for. */
export type FoundSandbox = {
  readonly sandbox: SandboxId;
  readonly template: TemplateDigest;
  readonly boot: BootId;
  readonly address: SandboxAddress;
};

/** A call as the sandbox's journal has it. `done`: its answer can still be had there; `confirmed`: its bytes are gone. */
export type FoundCall = {
  readonly call: CallId;
  readonly tool: string;
  readonly digest: string;
  readonly state: 'running' | 'done' | 'confirmed';
  /** Whether the tool-call budget counts it. */
  readonly counted: boolean;
};

/** A rollout as its sandbox tells of it. */
export type FoundRollout = FoundSandbox & {
  readonly owner: Owner;
  readonly label: RolloutLabel;
  /** Time until sandboxd ends itself: what is left of the rollout's hard life. */
  readonly expiresInMs: number;
  /** Something ran or was put there: the rollout has a state that it could lose. */
  readonly dispatched: boolean;
  readonly calls: readonly FoundCall[];
};

/**
 * Fleet state written back into a Redis that is not the one that held the fleet (docs/decisions/redis-may-forget.md). Until
 * `adopt` every other port throws `recovering`, these methods do not. Each is one script, harmless when it comes twice, from
 * another controller, or too late. Errors: `state_unavailable`.
 */
export interface RecoveryStore {
  /** Which Redis this is and the sandboxes it has kept, none in an empty one. Null: it holds the fleet, nothing is to be done. */
  kept(): Promise<Forgetful | null>;
  /**
   * Writes the rollout, or what its record lacks. `given_up`: the rollout is over, tainted, or lives in another
   * sandbox; this one goes to draining. `two_lives`: it was opened again while this sandbox did not answer, and calls
   * have run in both; nothing is written. `lost`: its set-up was replayed there, it is unknown how far, and this has discarded it.
   */
  restoreRollout(
    found: FoundRollout,
  ): Promise<'live' | 'given_up' | 'late' | 'two_lives' | { readonly lost: RolloutRecord }>;
  /** To the warm pool; nothing where it is known already. */
  restoreReady(found: FoundSandbox): Promise<void>;
  /**
   * It did not answer: until it does, nobody gets it, and `owner`'s claims answer `recovering`. `owner` null: nobody knows
   * whose it is, so for 30 s the claims of every rollout without record do, and nobody in line is granted anything.
   */
  markUnsure(sandbox: SandboxId, template: TemplateDigest, owner: RolloutKey | null): Promise<void>;
  /** The provider no longer has it: a ready one is forgotten; the rollout of an unsure one is lost. Returns one that this discarded. */
  markGone(sandbox: SandboxId): Promise<RolloutRecord | null>;
  /** Their sandboxes are gone: those without record are never opened again. */
  markLost(rollouts: readonly RolloutKey[]): Promise<void>;
  /** From now on that Redis holds the fleet. Throws `recovering` where another has come since: it lacks what was written back before. */
  adopt(redis: string): Promise<void>;
  /** When that was last, on Redis' clock; null: never, or more than a day ago. */
  adoptedAtMs(): Promise<number | null>;
}
