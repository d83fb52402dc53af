import type { FailureCode } from '../../../src/failure/codes.ts';
import type { PlannedCall, PlannedRollout } from './plan.ts';

/** What came back of one request. `lost`: the connection ended without an answer. */
export type Told =
  | { readonly kind: 'answer'; readonly output: string; readonly replayed: boolean }
  | { readonly kind: 'score'; readonly score: number }
  | {
      readonly kind: 'failure';
      readonly status: number;
      readonly code: FailureCode;
      readonly message: string;
    }
  | { readonly kind: 'lost' };

export type Request = {
  readonly rollout: PlannedRollout;
  /** Null for a grade. */
  readonly planned: PlannedCall | null;
  readonly call: string;
  /** It carries other arguments than an earlier one of the same id, to see whether that is noticed. */
  readonly conflicting: boolean;
  /** Calls that a grade names as the rollout's. */
  readonly named: readonly string[];
  readonly sentMs: number;
  told: Told | null;
  toldMs: number;
};

export type Ending =
  | { readonly kind: 'scored'; readonly score: number }
  | { readonly kind: 'discarded'; readonly why: string };

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

  of(rollout: string): readonly Request[] {
    return this.requests.filter((request) => request.rollout.name === rollout);
  }
}
