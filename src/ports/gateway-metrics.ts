import type { FailureCode } from '../failure/codes.ts';
import type { Face } from '../model/face.ts';

/** What a gateway counts at its doors. Nothing here throws. */
export interface GatewayMetrics {
  answered(face: Face, status: number): void;
  failed(face: Face, code: FailureCode): void;
}

/** What a gateway has in hand at this moment. */
export type GatewayGauges = {
  readonly heldRequests: number;
  readonly heldBodyBytes: number;
  /** Over the time since the last reading. */
  readonly loopLag: { readonly p50Ms: number; readonly p99Ms: number; readonly maxMs: number };
};
