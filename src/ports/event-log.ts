import type { Suspected, Verdict } from '../failure/verdict.ts';
import type { Blame } from '../failure/codes.ts';
import type { Evidence } from '../failure/failure.ts';
import type { Face } from '../model/face.ts';
import type { CallId, RunId, TenantId } from '../model/ids.ts';
import type { FilePlace, LogFile, Wanted } from '../protocol/fleet/events.ts';
import type { CallSummary } from './fleet/records.ts';
import type { Epoch, RolloutKey } from '../model/rollout.ts';

/** `keyId`: the public id of the API key whose request it was, never the secret; null: nobody's, the fleet did it by itself. */
type Told = { readonly atMs: number; readonly keyId: string | null };

type OfRollout = Told & {
  readonly key: RolloutKey;
  readonly environment: string;
  readonly version: string;
};

/** What probes of a backend say: `undecided` where none could be made. */
export type BackendState = 'failed' | 'good' | 'undecided';

/** What happened to one rollout: of these its story is made. */
export type RolloutEvent =
  | (OfRollout & {
      readonly kind: 'call_settled';
      readonly summary: CallSummary;
      readonly blame: Blame | null;
      readonly epoch: Epoch | null;
      readonly lastCommand: string;
      readonly evidence: Evidence;
      /** It reported a failed backend, and probes said this of it; absent: it reported none. */
      readonly backend?: BackendState;
    })
  /**
   * What a call had run whose sandbox was lost under it. Fleet state settles such a call, and only the gateway that had
   * sent it knows the command.
   */
  | (OfRollout & { readonly kind: 'lost_command'; readonly call: CallId; readonly command: string })
  | (OfRollout & {
      readonly kind: 'verdict';
      readonly verdict: Verdict;
      readonly score: number | null;
      readonly suspected: Suspected | null;
      readonly evidence: Evidence;
      /** When the rollout took its place, for what shows how long it was; older events do not say. */
      readonly openedAtMs?: number;
      /** Of one that a grader scored; older events do not say. */
      readonly why?: ToldWhy;
    })
  /** A caller took it out of its run. Of one without a score, a discard is the event next to this. */
  | (OfRollout & {
      readonly kind: 'rollout_voided';
      readonly reason: string;
      /** The score that reports leave out from now on; null if it had none, absent in older events. */
      readonly score?: number | null;
    })
  /** Somebody ended it by a request, before it ended by itself. */
  | (OfRollout & { readonly kind: 'rollout_closed'; readonly by: 'finished' | 'deleted' });

/**
 * Why a rollout has the score that it has, for the person who asks: kept in the event log only. It holds the truth of its
 * dataset row, so no policy and no key that only plays rollouts is told it.
 */
export type ToldWhy = {
  /** The row's own id, where it has one. */
  readonly itemId: string | null;
  /** The row as JSON text, its first 16 KiB. */
  readonly item: string;
  /** What the grader read of the answer, by where it looked: `output_json.files`. */
  readonly answer: Readonly<Record<string, string>>;
  /** What it compared that with: `item.files`. */
  readonly reference: Readonly<Record<string, string>>;
  /** Every part of the grader, the outermost first. */
  readonly parts: readonly PartReason[];
  /** The end of what the grader's last program said on stderr; empty where none ran. */
  readonly stderr: string;
};

/** `part`: where it stands, `weighted > 2 f1`. */
export type PartReason = { readonly part: string; readonly score: number | null; readonly reason: string };

/** Why a request was refused before it was read. */
export type RefusedFor = 'no_key' | 'unknown_key' | 'expired_key' | 'no_scope';

/** What somebody did with the fleet, or tried to, beside the rollouts themselves: for audits. */
export type DeedEvent =
  /** `keyId`: null where the key is not known. `route`: as it is registered, without what the caller wrote in it. */
  | (Told & {
      readonly kind: 'request_refused';
      readonly reason: RefusedFor;
      readonly scope: string;
      readonly face: Face;
      readonly method: string;
      readonly route: string;
      /** The address that the connection came from: a proxy's, where there is one. */
      readonly from: string;
    })
  /** `left`: rollouts of the run that the next such request releases. */
  | (Told & {
      readonly kind: 'run_closed';
      readonly tenant: TenantId;
      readonly run: RunId;
      readonly left: number;
    })
  | (Told & {
      readonly kind: 'prewarm_announced';
      readonly tenant: TenantId;
      readonly run: RunId;
      readonly environment: string;
      readonly version: string;
      readonly templates: number;
      readonly count: number;
      readonly untilMs: number;
    })
  /** This process has read another key file: ids of keys, at most 100 of each. */
  | (Told & {
      readonly kind: 'keys_changed';
      readonly added: readonly string[];
      readonly removed: readonly string[];
      readonly changed: readonly string[];
      /** How many are in force now. */
      readonly keys: number;
    })
  /** More deeds of one kind and key than are told each minute. */
  | (Told & {
      readonly kind: 'deeds_untold';
      readonly of: DeedKind;
      readonly count: number;
      readonly sinceMs: number;
    });

export type DeedKind = 'request_refused' | 'run_closed' | 'prewarm_announced' | 'keys_changed';

export type FleetEvent = RolloutEvent | DeedEvent;

/** Everything that is told, appended once; read when Redis has forgotten. */
export interface EventLog {
  append(event: FleetEvent): void;
  /** Resolves when everything appended so far is on disk. */
  flush(): Promise<void>;
  /**
   * The lines of the rollouts that are wanted, as they were written, the newest files first, until the signal aborts.
   * Null: this log keeps nothing that could be read.
   */
  search(wanted: Wanted, signal: AbortSignal): AsyncIterable<string> | null;
  /** In the order of their names; null as above. */
  files(): Promise<readonly LogFile[] | null>;
  /** The wanted lines of one of them, as far as it is written, until the signal aborts. Returns `gone` if it is not there. */
  follow(
    place: FilePlace,
    wanted: Wanted,
    signal: AbortSignal,
  ): AsyncGenerator<FollowedLines, 'end' | 'gone'>;
}

/** `readTo`: the byte after these lines, and after all that lie between them. */
export type FollowedLines = { readonly lines: readonly string[]; readonly readTo: number };
