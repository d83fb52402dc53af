import { failureRow } from '../failure/codes.ts';
import { type Evidence, Failure } from '../failure/failure.ts';
import type { Suspected } from '../failure/verdict.ts';
import type { RolloutKey } from '../model/rollout.ts';
import type { GatewayStore } from '../ports/fleet/gateways.ts';
import type { RolloutRecord } from '../ports/fleet/records.ts';
import type { Deadline } from '../waiting/deadline.ts';
import { type RetryDeps, type RetryLimits, retrying } from '../waiting/retries.ts';
import { retryPolicies } from '../waiting/retry-policies.ts';

/*
 * Requests of E2B's clients. Their SDK raises an exception for a request without an answer, and a framework may then grade what the
 * policy had done until then, as if that was all of it. So every request is in fleet state while a gateway has it in hand, and the
 * rollout is discarded if its client did not learn what happened:
 *
 *   in hand ─ answered ──────────────────────────────────────────▶ left
 *      ├───── answered with a failure of the infrastructure ─────▶ discarded
 *      ├───── its client leaves while fleet state is away ───────▶ discarded
 *      ├───── its client leaves for another reason, its own ─────▶ left
 *      └───── its gateway dies ─▶ discarded by another one (`keep`), or by the next (gateway-start.ts)
 *
 * A gateway or a Redis that only stands still for a while discards nothing.
 */

export type RequestsDeps = RetryDeps & {
  readonly gateways: Pick<GatewayStore, 'enter' | 'leave' | 'lose' | 'keep' | 'end'>;
  /** The name of this process. */
  readonly gateway: string;
  /** Hears of rollouts that were discarded. */
  readonly onLost: (rollouts: readonly RolloutRecord[]) => Promise<void>;
};

/** One request, as its route tells of it. */
export type RequestInHand = {
  /** Resolves when fleet state has it. Throws `recovering` or `state_unavailable` when `until` has passed. */
  entered(until: Deadline): Promise<void>;
  failed(failure: Failure): void;
  /** Its connection has closed; `isWhole`: after the whole answer. */
  closed(isWhole: boolean): void;
};

/** Fleet state that is silent for longer is away, for a client that leaves meanwhile. */
const awayMs = 1_000;

export class RequestsInHand {
  readonly #deps: RequestsDeps;
  readonly #stopping = new AbortController();
  /** Whether this gateway knows if it may answer. */
  #isDecided = false;
  /** Discards that fleet state has not heard of yet. */
  readonly #owed = new Map<RolloutKey, Promise<void>>();
  readonly #leaving = new Set<Promise<void>>();
  /** When fleet state was last found away, and since when it has not answered what it was asked. */
  #awayAtMs = Number.NEGATIVE_INFINITY;
  #askedAtMs: number | null = null;
  #last = 0;

  constructor(deps: RequestsDeps) {
    this.#deps = deps;
  }

  decided(): void {
    this.#isDecided = true;
  }

  /** Says that this gateway listens, and discards what those had in hand that are gone; to be called every second. */
  async keep(): Promise<void> {
    const { gateways, gateway, onLost } = this.#deps;
    await onLost(await this.#asking(() => gateways.keep(gateway)));
  }

  open(rollout: RolloutKey): RequestInHand {
    const number = String((this.#last += 1));
    const beganMs = this.#deps.clock.monotonicMs();
    const hasLeft = new AbortController();
    let isEntered: Promise<void> | null = null;
    let isFailed = false;
    return {
      entered: (until) => (isEntered = this.#enter(rollout, number, { until, hurry: hasLeft.signal })),
      failed: (failure) => {
        if (isFailed || !leavesClientInDoubt(failure)) return;
        isFailed = true;
        this.#owe(rollout, { reason: 'failed', code: failure.code }, suspectedOf(failure));
      },
      closed: (isWhole) => {
        if (!isWhole && !isFailed && this.#wasAwaySince(beganMs))
          this.#owe(rollout, { reason: 'client_left' }, null);
        hasLeft.abort();
        if (isEntered !== null) this.#leave(rollout, number, isEntered);
      },
    };
  }

  /** This gateway has left in order: everything it had in hand was answered, and what it owes is told first. */
  async end(): Promise<void> {
    const { gateways, gateway } = this.#deps;
    await Promise.allSettled([...this.#owed.values(), ...this.#leaving]);
    this.#stopping.abort();
    await gateways.end(gateway);
  }

  #enter(rollout: RolloutKey, number: string, limits: RetryLimits): Promise<void> {
    const { gateways, gateway } = this.#deps;
    const enter = () => {
      if (!this.#isDecided || this.#owed.has(rollout)) throw notYetKnown();
      return this.#asking(() => gateways.enter(gateway, number, rollout));
    };
    return retrying(this.#deps, retryPolicies.request, async () => enter(), limits);
  }

  /** Also one that failed to enter: fleet state may have heard it late. */
  #leave(rollout: RolloutKey, number: string, entered: Promise<void>): void {
    const { gateways, gateway } = this.#deps;
    const left = entered
      .catch(() => undefined)
      .then(() => this.#owed.get(rollout))
      .then(() => this.#persisting(() => gateways.leave(gateway, number, rollout)))
      .catch(() => undefined)
      .finally(() => this.#leaving.delete(left));
    this.#leaving.add(left);
  }

  #owe(rollout: RolloutKey, evidence: Evidence, suspected: Suspected | null): void {
    if (this.#owed.has(rollout)) return;
    const { gateways, onLost } = this.#deps;
    const told = this.#persisting(() => gateways.lose(rollout, evidence, suspected))
      .then((lost) => onLost(lost === null ? [] : [lost]))
      .catch(() => undefined)
      .finally(() => this.#owed.delete(rollout));
    this.#owed.set(rollout, told);
  }

  #wasAwaySince(sinceMs: number): boolean {
    const nowMs = this.#deps.clock.monotonicMs();
    return this.#awayAtMs >= sinceMs || (this.#askedAtMs !== null && nowMs - this.#askedAtMs > awayMs);
  }

  async #asking<Result>(ask: () => Promise<Result>): Promise<Result> {
    const { clock } = this.#deps;
    this.#askedAtMs ??= clock.monotonicMs();
    try {
      const result = await ask();
      this.#askedAtMs = null;
      return result;
    } catch (thrown) {
      this.#awayAtMs = clock.monotonicMs();
      this.#askedAtMs = null;
      throw thrown;
    }
  }

  #persisting<Result>(step: () => Promise<Result>): Promise<Result> {
    return retrying(this.#deps, retryPolicies.lostRequest, step, { hurry: this.#stopping.signal });
  }
}

const notYetKnown = () =>
  new Failure('recovering', 'a request for this sandbox may have been lost; this is decided within seconds');

/** A failure of the infrastructure after which the sandbox is not gone in any case. Of one that still runs nothing failed. */
function leavesClientInDoubt({ code }: Failure): boolean {
  const { blame, e2b } = failureRow(code);
  return blame === 'infrastructure' && e2b !== 502 && code !== 'still_running';
}

/** Commands that run as sandboxd can keep it from taking connections. */
const suspectedOf = ({ code }: Failure): Suspected | null =>
  code === 'sandboxd_unreachable' ? 'command' : null;
