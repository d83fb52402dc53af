import { Failure } from '#src/failure/failure.ts';
import type { TenantId } from '#src/model/ids.ts';
import { chooseDropped, ComingBody, minBytesPerSecond } from './slow-bodies.ts';

/*
 * How much one gateway holds. A burst is held rather than refused, so held requests and their bodies are what fills
 * its memory; both are bounded here, and nowhere else. A body counts as the bytes that are kept of it and the heap that its
 * values take once they are parsed.
 *
 *   open      requests come in until a bound is hit. Then slow bodies make room (`slow-bodies.ts`); if there are none, the next
 *             request gets `gateway_overloaded`
 *   leaving   the same; others are told to go elsewhere
 *   closing   nothing new, `shutting_down`; what is held finishes, or is cut off
 */

export type HoldLimits = { readonly requests: number; readonly bodyBytes: number };

/**
 * One held request. `grow` throws where the bound is hit, or after its body was dropped, and the whole body no longer counts.
 * `release` may be called any number of times.
 */
export type Hold = {
  grow(bytes: number): void;
  /** Its body is read from now on; `passed_on`: to a sandbox, as it comes. */
  read(as: 'kept' | 'passed_on'): Reading;
  release(): void;
};

/** Told by the one who reads a body. `came` throws after the body was dropped. */
export type Reading = { came(bytes: number): void; awaits(): void; ended(): void };

/** Answers a held request at once, whatever it waits for. */
export type CutOff = (failure: Failure) => void;

export type GateState = 'open' | 'leaving' | 'closing';

type Held = {
  readonly tenant: TenantId;
  readonly cutOff: CutOff;
  bytes: number;
  /** Set once its body was dropped. */
  dropped: Failure | null;
};

/** A body that is being read, and whose request it is. */
class HeldBody extends ComingBody {
  readonly of: Held;

  constructor(of: Held, streamed: boolean, nowMs: number) {
    super(of.tenant, streamed, nowMs);
    this.of = of;
  }
}

export class HoldGate {
  readonly #limits: HoldLimits;
  readonly #nowMs: () => number;
  readonly #held = new Set<Held>();
  readonly #coming = new Set<HeldBody>();
  #bodyBytes = 0;
  #entered = 0;
  #state: GateState = 'open';
  readonly #idle = Promise.withResolvers<void>();

  /** `nowMs`: of a clock that only goes forward. */
  constructor(limits: HoldLimits, nowMs: () => number) {
    this.#limits = limits;
    this.#nowMs = nowMs;
  }

  get requests(): number {
    return this.#held.size;
  }

  /** How many have come in since this gateway began. */
  get entered(): number {
    return this.#entered;
  }

  get requestsLimit(): number {
    return this.#limits.requests;
  }

  get bodyBytes(): number {
    return this.#bodyBytes;
  }

  get state(): GateState {
    return this.#state;
  }

  /** Throws `Failure` with `shutting_down` once nothing new is taken. */
  requireOpen(): void {
    if (this.#state !== 'closing') return;
    throw new Failure('shutting_down', 'this gateway is stopping; send the request again to another one');
  }

  /** Takes a request of a tenant in. Throws `Failure` with `shutting_down` or `gateway_overloaded`. */
  enter(tenant: TenantId, onCutOff: CutOff): Hold {
    this.requireOpen();
    this.#requirePlace(tenant);
    const held: Held = { tenant, cutOff: onCutOff, bytes: 0, dropped: null };
    this.#held.add(held);
    this.#entered += 1;
    return {
      grow: (more) => this.#grow(held, more),
      read: (as) => this.#read(held, as === 'passed_on'),
      release: () => this.#release(held),
    };
  }

  #requirePlace(asking: TenantId): void {
    const { requests: limit } = this.#limits;
    if (this.requests >= limit) this.#dropOne(asking, limit, () => 1);
    if (this.requests >= limit) throw this.#overloaded('requests', limit);
  }

  #grow(held: Held, more: number): void {
    if (held.dropped !== null) throw held.dropped;
    const { bodyBytes: limit } = this.#limits;
    const isTooMuch = () => this.#bodyBytes + more > limit;
    while (isTooMuch() && this.#dropOne(held.tenant, limit, ({ bytes }) => bytes));
    if (held.dropped !== null) throw held.dropped;
    if (isTooMuch()) {
      // Its body is thrown away, and what it had must not keep others out while the rest of it comes.
      this.#forgetBytes(held);
      throw this.#overloaded('body bytes', limit);
    }
    held.bytes += more;
    this.#bodyBytes += more;
  }

  #read(held: Held, streamed: boolean): Reading {
    const body = new HeldBody(held, streamed, this.#nowMs());
    this.#coming.add(body);
    return {
      came: (bytes) => {
        if (held.dropped !== null) throw held.dropped;
        body.came(bytes, this.#nowMs());
      },
      awaits: () => body.awaits(this.#nowMs()),
      ended: () => void this.#coming.delete(body),
    };
  }

  /** Drops the body that is to make room, and its request; false: none is. */
  #dropOne(asking: TenantId, limit: number, amountOf: (held: Held) => number): boolean {
    if (this.#coming.size === 0) return false;
    const held = new Map<TenantId, number>();
    for (const one of this.#held) held.set(one.tenant, (held.get(one.tenant) ?? 0) + amountOf(one));
    const body = chooseDropped(this.#coming, { asking, limit, held }, this.#nowMs());
    if (body === null) return false;
    body.of.dropped = this.#tooSlow(body);
    this.#coming.delete(body);
    this.#release(body.of);
    body.of.cutOff(body.of.dropped);
    return true;
  }

  /** From now on others are to be asked; whoever comes nevertheless is taken in. */
  leave(): void {
    this.#state = 'leaving';
  }

  /** From now on nothing enters. Resolves when the last held request has left. */
  close(): Promise<void> {
    this.#state = 'closing';
    if (this.requests === 0) this.#idle.resolve();
    return this.#idle.promise;
  }

  /** Answers whoever is still held. It is not known here what of it has run. */
  cutOff(): void {
    for (const { cutOff } of this.#held) {
      cutOff(
        new Failure('shutting_down', 'this gateway has stopped; send the request again to another one', {
          admitted: 'unknown',
        }),
      );
    }
  }

  #release(held: Held): void {
    if (!this.#held.delete(held)) return;
    this.#forgetBytes(held);
    if (this.#state === 'closing' && this.requests === 0) this.#idle.resolve();
  }

  #forgetBytes(held: Held): void {
    this.#bodyBytes -= held.bytes;
    held.bytes = 0;
  }

  /** Of a body that was passed on, a part may be in the sandbox. */
  #tooSlow({ streamed }: HeldBody): Failure {
    const message = `this gateway is full, and the body came more slowly than ${minBytesPerSecond} bytes a second; send the request again`;
    return new Failure('gateway_overloaded', message, {
      admitted: streamed ? 'unknown' : 'no',
      evidence: { heldRequests: this.requests, heldBodyBytes: this.#bodyBytes },
    });
  }

  #overloaded(what: string, limit: number): Failure {
    return new Failure('gateway_overloaded', `this gateway already holds ${limit} ${what}; add gateways`, {
      evidence: { heldRequests: this.requests, heldBodyBytes: this.#bodyBytes },
    });
  }
}
