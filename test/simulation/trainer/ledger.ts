import type { FailureCode } from '#src/failure/codes.ts';
import type { RolloutState } from '#src/model/rollout.ts';
import type { PlannedCall, PlannedRollout } from './plan.ts';

/** What came back of one request. `lost`: the connection ended without an answer. */
export type Told =
  /** `ended`: outcome and code. */
  | { readonly kind: 'answer'; readonly output: string; readonly ended: string; readonly replayed: boolean }
  | { readonly kind: 'score'; readonly score: number }
  | { readonly kind: 'cancelled'; readonly began: boolean }
  | {
      readonly kind: 'view';
      readonly state: RolloutState;
      readonly verdict: 'scorable' | 'discard';
      /** Of a discard. */
      readonly code: FailureCode | null;
    }
  | {
      readonly kind: 'failure';
      readonly status: number;
      readonly code: FailureCode;
      readonly message: string;
    }
  | { readonly kind: 'lost' };

export type Asking = 'open' | 'call' | 'cancel' | 'heartbeat' | 'view' | 'grade' | 'close';

export type Request = {
  readonly rollout: PlannedRollout;
  readonly asking: Asking;
  /** Null where no call was asked for. */
  readonly planned: PlannedCall | null;
  readonly call: string;
  /** It carries other arguments than an earlier one of the same id, to see whether that is noticed. */
  readonly conflicting: boolean;
  /** It is marked as set-up, and comes too late for that. */
  readonly late: boolean;
  /** Calls that a grade names as the rollout's. */
  readonly named: readonly string[];
  readonly sentMs: number;
  told: Told | null;
  toldMs: number;
};

export type Ending =
  | { readonly kind: 'scored'; readonly score: number }
  | { readonly kind: 'discarded'; readonly why: string }
  /** Its trainer ended it before it was graded, or died. */
  | { readonly kind: 'given_up' };

/** Everything the platform asked, was told and made of it. */
export class Ledger {
  readonly requests: Request[] = [];
  readonly endings = new Map<string, Ending>();
  changes = 0;

  asked(request: Omit<Request, 'told' | 'toldMs'>): Request {
    const asked = { ...request, told: null, toldMs: 0 };
    this.requests.push(asked);
    return asked;
  }

  told(request: Request, told: Told, atMs: number): void {
    request.told = told;
    request.toldMs = atMs;
    this.changes += 1;
  }

  ended(rollout: string, ending: Ending): void {
    this.endings.set(rollout, ending);
    this.changes += 1;
  }

  /** When the rollout's end was first asked for by its trainer; Infinity where it never was. */
  endAskedMs(rollout: string): number {
    const ends = this.of(rollout).filter(({ asking }) => asking === 'close');
    return Math.min(Number.POSITIVE_INFINITY, ...ends.map(({ sentMs }) => sentMs));
  }

  of(rollout: string): readonly Request[] {
    return this.requests.filter((request) => request.rollout.name === rollout);
  }
}
