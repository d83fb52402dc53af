import type { FailureCode } from '../failure/codes.ts';
import type { Face } from '../model/face.ts';

/** A request that was answered; probes and scrapes are none. */
export type Answered = {
  readonly face: Face;
  readonly status: number;
  /** Method and pattern of its address, as the route was registered; null: there is none such. Never what was sent. */
  readonly route: string | null;
  /** Since its first byte. */
  readonly tookMs: number;
};

/** What a gateway counts of its requests. Nothing here throws. */
export interface GatewayMetrics {
  answered(answered: Answered): void;
  /** Codes of who only has to wait on may be told, and are not counted. */
  failed(face: Face, code: FailureCode): void;
}

/** What a gateway has in hand at this moment. */
export type GatewayGauges = {
  readonly heldRequests: number;
  readonly heldRequestsLimit: number;
  readonly heldBodyBytes: number;
  /** Over the time since the last reading. */
  readonly loopLag: { readonly p50Ms: number; readonly p99Ms: number; readonly maxMs: number };
};
