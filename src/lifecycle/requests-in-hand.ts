import { failureRow } from '../failure/codes.ts';
import { asFailure, type Evidence, Failure } from '../failure/failure.ts';
import { mayBePolicys } from '../failure/verdict.ts';
import { restsOnSandbox, saidBySandbox } from '../failure/witness.ts';
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
/** So soon after fleet state is back, an answer that waited for it has been sent. A client that leaves later has another reason. */
const backMs = 5_000;

export class RequestsInHand {
  readonly #deps: RequestsDeps;
  readonly #stopping = new AbortController();
  /** Whether this gateway knows if it may answer. */
  #isDecided = false;
  /** How many requests of each rollout are in hand. */
  readonly #inHand = new Map<RolloutKey, number>();
  /** Whether fleet state may have that wrong: it forgot it, or did not hear of an end. */
  #isStale = false;
  /** Discards that fleet state has not stored yet. */
  readonly #owed = new Map<RolloutKey, Promise<void>>();
  #leftAtMs: number | null = null;
  /** When fleet state was last found away, and since when it has not answered what it was asked. */
  #awayAtMs = Number.NEGATIVE_INFINITY;
  #askedAtMs: number | null = null;

  constructor(deps: RequestsDeps) {
    this.#deps = deps;
  }

  decided(): void {
    this.#isDecided = true;
  }

  /** Load balancers send this gateway nothing new from here on. */
  leaves(): void {
    this.#leftAtMs ??= this.#deps.clock.monotonicMs();
  }

  /** Resolves when this gateway knows whether it may answer. Throws `recovering` when `until` has passed. */
  whenDecided(until: Deadline): Promise<void> {
    return retrying(this.#deps, retryPolicies.request, async () => this.#checkDecided(), { until });
  }

  /** Says that this gateway listens, and discards what gateways that are gone had in hand. Call it every second. */
  async keep(): Promise<void> {
    const { gateways, gateway, onLost, clock } = this.#deps;
    const leavingMs = this.#leftAtMs === null ? undefined : clock.monotonicMs() - this.#leftAtMs;
    const inHand = this.#isStale ? [...this.#inHand.keys()] : undefined;
    this.#isStale = false;
    try {
      const { isForgotten, lost } = await this.#asking(() => gateways.keep(gateway, { inHand, leavingMs }));
      this.#isStale ||= isForgotten;
      await onLost(lost);
    } catch (thrown) {
      // A replica that is promoted may have missed what came last.
      this.#isStale = true;
      // Also when it is `recovering`: here that is Redis itself, and never the doubt about another gateway.
      this.#awayAtMs = clock.monotonicMs();
      throw thrown;
    }
  }

  open(rollout: RolloutKey): RequestInHand {
    const beganMs = this.#deps.clock.monotonicMs();
    const hasLeft = new AbortController();
    let isEntered: Promise<void> | null = null;
    let isFailed = false;
    return {
      entered: (until) => (isEntered = this.#enter(rollout, { until, hurry: hasLeft.signal })),
      failed: (failure) => {
        if (
          isFailed ||
          !leavesClientInDoubt(failure, () => this.#isAway(this.#deps.clock.monotonicMs() - beganMs))
        )
          return;
        isFailed = true;
        this.#owe(rollout, evidenceOf(failure));
      },
      closed: (isWhole) => {
        if (!isWhole && !isFailed && this.#isAway(backMs)) this.#owe(rollout, { reason: 'client_left' });
        hasLeft.abort();
        if (isEntered !== null) void this.#leave(rollout, isEntered);
      },
    };
  }

  /** This gateway has left in order: it answered everything that it had in hand, and stores what it owes first. */
  async end(): Promise<void> {
    const { gateways, gateway } = this.#deps;
    await Promise.allSettled(this.#owed.values());
    this.#stopping.abort();
    await gateways.end(gateway);
  }

  #enter(rollout: RolloutKey, limits: RetryLimits): Promise<void> {
    const { gateways, gateway } = this.#deps;
    this.#inHand.set(rollout, (this.#inHand.get(rollout) ?? 0) + 1);
    const enter = async () => {
      this.#checkDecided();
      if (this.#owed.has(rollout)) throw notYetKnown();
      await this.#asking(() => gateways.enter(gateway, rollout));
    };
    return retrying(this.#deps, retryPolicies.request, enter, limits);
  }

  #checkDecided(): void {
    if (!this.#isDecided) throw notYetKnown();
  }

  /** Until a discard that is owed has been stored, the request stays in hand: if this gateway dies, another one discards. */
  async #leave(rollout: RolloutKey, entered: Promise<void>): Promise<void> {
    const { gateways, gateway } = this.#deps;
    await entered.catch(() => undefined);
    await this.#owed.get(rollout);
    const left = (this.#inHand.get(rollout) ?? 1) - 1;
    if (left > 0) return void this.#inHand.set(rollout, left);
    this.#inHand.delete(rollout);
    await gateways.leave(gateway, rollout).catch(() => (this.#isStale = true));
  }

  #owe(rollout: RolloutKey, evidence: Evidence): void {
    if (this.#owed.has(rollout)) return;
    const { gateways, onLost } = this.#deps;
    const stored = this.#persisting(() => gateways.lose(rollout, evidence))
      .then((lost) => onLost(lost === null ? [] : [lost]))
      .catch(() => undefined)
      .finally(() => this.#owed.delete(rollout));
    this.#owed.set(rollout, stored);
  }

  /** Whether fleet state is away, or was within this time. */
  #isAway(withinMs: number): boolean {
    const nowMs = this.#deps.clock.monotonicMs();
    const isSilent = this.#askedAtMs !== null && nowMs - this.#askedAtMs > awayMs;
    return isSilent || nowMs - this.#awayAtMs <= withinMs;
  }

  async #asking<Result>(ask: () => Promise<Result>): Promise<Result> {
    const { clock } = this.#deps;
    this.#askedAtMs ??= clock.monotonicMs();
    try {
      const result = await ask();
      if (this.#isAway(Number.NEGATIVE_INFINITY)) this.#awayAtMs = clock.monotonicMs();
      return result;
    } catch (thrown) {
      // What is `recovering` may only be the doubt about another gateway.
      if (asFailure(thrown).code === 'state_unavailable') {
        // A replica may be promoted before the next `keep`, and have missed what came last.
        this.#isStale = true;
        this.#awayAtMs = clock.monotonicMs();
      }
      throw thrown;
    } finally {
      this.#askedAtMs = null;
    }
  }

  #persisting<Result>(step: () => Promise<Result>): Promise<Result> {
    return retrying(this.#deps, retryPolicies.lostRequest, step, { hurry: this.#stopping.signal });
  }
}

const notYetKnown = () =>
  new Failure('recovering', 'a request for this sandbox may have been lost; this is decided within seconds');

/**
 * An infrastructure failure after which the sandbox is not gone in any case. A command that still runs is one only if fleet state was
 * away: what says that it ended could not be stored.
 */
function leavesClientInDoubt({ code }: Failure, wasAway: () => boolean): boolean {
  if (code === 'still_running') return wasAway();
  const { blame, e2b } = failureRow(code);
  return blame === 'infrastructure' && e2b !== 502;
}

/** Commands that run as sandboxd can keep it from taking connections. */
const evidenceOf = ({ code, evidence }: Failure): Evidence => ({
  reason: 'failed',
  code,
  ...(restsOnSandbox(code, evidence) ? saidBySandbox : {}),
  ...(code === 'sandboxd_unreachable' ? mayBePolicys : {}),
});
