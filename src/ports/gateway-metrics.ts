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
  /** A slow body made room for another request. */
  bodyDropped(): void;
}

/** What a gateway has in hand at this moment. */
export type GatewayGauges = {
  readonly heldRequests: number;
  readonly heldRequestsLimit: number;
  readonly heldBodyBytes: number;
  /** Over the time since the last reading. */
  readonly loopLag: { readonly p50Ms: number; readonly p99Ms: number; readonly maxMs: number };
};

/** Where the time of one tool call went, in milliseconds. */
type CallParts = {
  /** Until the rollout had its sandbox. */
  readonly waitedMs: number;
  /** As the sandbox measured it. */
  readonly commandMs: number;
  /** The rest of it: the way there and back, judging and storing. */
  readonly overheadMs: number;
};

/** What a gateway's work takes, in the domain's own words. Nothing here throws; each is told once, by whoever did it. */
export interface WorkMetrics {
  /** The sandbox of a rollout is prepared. `tookMs`: since it stood in line, or would have. */
  obtained(environment: string, launch: 'warm' | 'cold', tookMs: number): void;
  /** A call settled that its sandbox answered. */
  callAnswered(environment: string, parts: CallParts): void;
  /** A grader's turn is over, whatever came of it. */
  graded(environment: string, tookMs: number): void;
  /** A judge was asked; `ok`: it scored or refused the answer. */
  judged(end: FailureCode | 'ok'): void;
  /** A request that was repeated got the answer that is recorded. */
  replayed(face: Face): void;
}
