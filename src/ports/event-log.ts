import type { Suspected } from '../failure/suspected.ts';
import type { Blame } from '../failure/codes.ts';
import type { Evidence } from '../failure/failure.ts';
import type { Verdict } from '../failure/verdict.ts';
import type { CallId } from '../model/ids.ts';
import type { CallSummary } from './fleet/records.ts';
import type { Epoch, RolloutKey } from '../model/rollout.ts';

type Common = {
  readonly atMs: number;
  readonly key: RolloutKey;
  readonly environment: string;
  readonly version: string;
};

export type FleetEvent =
  | (Common & {
      readonly kind: 'call_settled';
      readonly summary: CallSummary;
      readonly blame: Blame | null;
      readonly epoch: Epoch | null;
      readonly lastCommand: string;
      readonly evidence: Evidence;
    })
  /**
   * What a call had run whose sandbox was lost under it. Fleet state settles such a call, and only the gateway that had
   * sent it knows the command.
   */
  | (Common & { readonly kind: 'lost_command'; readonly call: CallId; readonly command: string })
  | (Common & {
      readonly kind: 'verdict';
      readonly verdict: Verdict;
      readonly score: number | null;
      readonly suspected: Suspected | null;
      readonly evidence: Evidence;
      /** When the rollout took its place, for what shows how long it was; older events do not say. */
      readonly openedAtMs?: number;
    });

/** Every settled call and every verdict, appended once; read when Redis has forgotten. */
export interface EventLog {
  append(event: FleetEvent): void;
  /** Resolves when everything appended so far is on disk. */
  flush(): Promise<void>;
  read(filter: { readonly key?: RolloutKey; readonly sinceMs?: number }): AsyncIterable<FleetEvent>;
}
