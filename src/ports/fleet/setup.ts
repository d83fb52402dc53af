import type { CallId } from '#src/model/ids.ts';
import type { RolloutKey } from '#src/model/rollout.ts';
import type { RolloutRecord } from './records.ts';

/**
 * Set-up: the calls that a trainer marks as such before its policy acts. Fleet state keeps them whole (lib/setup.lua). If their
 * sandbox is lost between two calls, before the first other call, the rollout heals: they are replayed in order in the next sandbox.
 */

/** Of one rollout, all together; `bytesMost` in lib/setup.lua is the same. More is not kept, and the rollout does not heal. */
export const mostSetupBytes = 16 * 1024 * 1024;

/** What a replay sends again, opaque to fleet state. Null: an upload, whose bytes are brought with its end. */
export type KeptSetup = { readonly sent: string | null; readonly bytes: number };

/** How a call of the set-up has ended, for a replay to compare: a digest of its end, and of an upload what it brought. */
export type SetupEnd = { readonly digest: string; readonly sent?: string; readonly bytes?: number };

/** The end of a step in the new sandbox. */
export type ReplayedStep = { readonly step: number; readonly digest: string };

export type Replay =
  /** Send this, then come back with its end. */
  | { readonly kind: 'step'; readonly step: number; readonly call: CallId; readonly sent: string }
  /** The sandbox has the whole state. */
  | { readonly kind: 'done' }
  /** It does not heal in this sandbox, or not any more. */
  | { readonly kind: 'over' }
  /** It cannot be healed, and this has discarded it: a step ended otherwise than before, or not all of its calls are known. */
  | { readonly kind: 'lost'; readonly rollout: RolloutRecord };

/** One script; errors as in `claims.ts`. */
export interface SetupStore {
  /** What is to be replayed next in the sandbox of this generation. `ended`: the end of the step before; null: none yet. */
  replay(key: RolloutKey, generation: number, ended: ReplayedStep | null): Promise<Replay>;
}
