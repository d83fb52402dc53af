import type { TenantId } from '../model/ids.ts';
import type { Clock } from '../ports/clock.ts';
import type { FollowBudget } from './follow-budget.ts';
import type { OutputPiece } from './rest-of-output.ts';

/** Of one reader of one call: a gateway writes some 100 MB of events in a second of its processor. */
const mostBytesPerMs = (4 * 1024 * 1024) / 1000;
/** What came while the reader waited for it needs no pause: a quarter of a second's worth. */
const burstMs = 250;
/** What a piece costs at least. A command that prints byte by byte may be as many events as bytes. */
const leastBytes = 4 * 1024;

/**
 * Keeps one followed command below a rate, and all of a gateway within its budget, so that a command that prints without end does not take a gateway from the others. What it
 * prints meanwhile is kept in its sandbox as far as its answer keeps it, and the rest is a gap.
 */
export class Pace {
  readonly #clock: Clock;
  readonly #budget: FollowBudget;
  readonly #tenant: TenantId;
  /** When what was read so far is paid for. */
  #paidAtMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, budget: FollowBudget, tenant: TenantId) {
    this.#clock = clock;
    this.#budget = budget;
    this.#tenant = tenant;
  }

  /** Waits after a piece for as long as it was too early. */
  async keep(piece: OutputPiece, over: AbortSignal): Promise<void> {
    const nowMs = this.#clock.monotonicMs();
    const bytes = piece.kind === 'gap' ? 0 : Buffer.byteLength(piece.base64, 'base64');
    const costBytes = Math.max(bytes, leastBytes);
    const costMs = costBytes / mostBytesPerMs;
    this.#paidAtMs = Math.max(this.#paidAtMs, nowMs - burstMs) + costMs;
    if (this.#paidAtMs > nowMs) await this.#clock.sleep(this.#paidAtMs - nowMs, over);
    await this.#budget.pay(this.#tenant, costBytes, over);
  }
}
