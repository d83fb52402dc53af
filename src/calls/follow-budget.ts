import type { TenantId } from '../model/ids.ts';
import type { Clock } from '../ports/clock.ts';

/** A quarter of a processor, by what a gateway writes of events in a second of it. */
const mostBytesPerMs = (24 * 1024 * 1024) / 1000;
/** What came while nothing else was followed needs no pause. */
const burstMs = 250;

type Turn = { readonly costMs: number; readonly enter: () => void };

/**
 * What all followed commands of a gateway may cost it together, so that calls of others keep their latency. Tenants whose commands print
 * more have equal shares; within a tenant the commands take turns. A tenant that needs less leaves the rest to the others.
 */
export class FollowBudget {
  readonly #clock: Clock;
  readonly #waiting = new Map<TenantId, Turn[]>();
  /** What tenants have spent since nothing waited. A tenant that begins later has the least of the others. */
  readonly #spentMs = new Map<TenantId, number>();
  #leastMs = 0;
  /** When what was spent is paid for. */
  #paidAtMs = Number.NEGATIVE_INFINITY;
  #isServing = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves when so many bytes are paid for, or `over` is aborted. */
  async pay(tenant: TenantId, bytes: number, over: AbortSignal): Promise<void> {
    const costMs = bytes / mostBytesPerMs;
    // What is spent while nothing waits is taken from no other tenant.
    if (this.#waiting.size === 0 && this.#paidAtMs <= this.#clock.monotonicMs()) return this.#owe(costMs);
    const { promise, resolve } = Promise.withResolvers<void>();
    const turn = { costMs, enter: resolve };
    this.#waiting.set(tenant, [...(this.#waiting.get(tenant) ?? []), turn]);
    void this.#serve();
    const leave = () => {
      this.#drop(tenant, turn);
      resolve();
    };
    over.addEventListener('abort', leave, { once: true });
    if (over.aborted) leave();
    await promise.finally(() => over.removeEventListener('abort', leave));
  }

  async #serve(): Promise<void> {
    if (this.#isServing) return;
    this.#isServing = true;
    while (this.#waiting.size > 0) {
      const waitMs = this.#paidAtMs - this.#clock.monotonicMs();
      if (waitMs > 0) await this.#clock.sleep(waitMs);
      this.#letNextIn();
    }
    this.#isServing = false;
    this.#spentMs.clear();
    this.#leastMs = 0;
  }

  #letNextIn(): void {
    const spentOf = (tenant: TenantId) => Math.max(this.#leastMs, this.#spentMs.get(tenant) ?? 0);
    const [tenant] = [...this.#waiting.keys()].toSorted((one, other) => spentOf(one) - spentOf(other));
    const turn = tenant === undefined ? undefined : this.#waiting.get(tenant)?.[0];
    if (tenant === undefined || turn === undefined) return;
    this.#leastMs = spentOf(tenant);
    this.#drop(tenant, turn);
    this.#spend(tenant, turn.costMs);
    turn.enter();
  }

  #owe(costMs: number): void {
    this.#paidAtMs = Math.max(this.#paidAtMs, this.#clock.monotonicMs() - burstMs) + costMs;
  }

  #spend(tenant: TenantId, costMs: number): void {
    this.#owe(costMs);
    this.#spentMs.set(tenant, Math.max(this.#leastMs, this.#spentMs.get(tenant) ?? 0) + costMs);
  }

  #drop(tenant: TenantId, turn: Turn): void {
    const left = (this.#waiting.get(tenant) ?? []).filter((one) => one !== turn);
    if (left.length > 0) this.#waiting.set(tenant, left);
    else this.#waiting.delete(tenant);
  }
}
