import { Failure } from '#src/failure/failure.ts';

/*
 * How much one gateway holds. A burst is held rather than refused, so held requests and their bodies are what fills
 * its memory; both are bounded here, and nowhere else. A body counts as the bytes that are kept of it and the heap that its
 * values take once they are parsed.
 *
 *   open      requests come in until a bound is hit, then `gateway_overloaded`
 *   leaving   the same; others are told to go elsewhere
 *   closing   nothing new, `shutting_down`; what is held finishes, or is cut off
 */

export type HoldLimits = { readonly requests: number; readonly bodyBytes: number };

/** One held request. `grow` throws where the bound is hit, and the whole body no longer counts. `release` may be called any number of times. */
export type Hold = { grow(bytes: number): void; release(): void };

/** Answers a held request at once, whatever it waits for. */
export type CutOff = (failure: Failure) => void;

export type GateState = 'open' | 'leaving' | 'closing';

export class HoldGate {
  readonly #limits: HoldLimits;
  readonly #held = new Set<CutOff>();
  #bodyBytes = 0;
  #entered = 0;
  #state: GateState = 'open';
  readonly #idle = Promise.withResolvers<void>();

  constructor(limits: HoldLimits) {
    this.#limits = limits;
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

  /** Takes a request in. Throws `Failure` with `shutting_down` or `gateway_overloaded`. */
  enter(onCutOff: CutOff): Hold {
    if (this.#state === 'closing') {
      throw new Failure('shutting_down', 'this gateway is stopping; send the request again to another one');
    }
    if (this.requests >= this.#limits.requests) throw this.#overloaded('requests', this.#limits.requests);
    // Its own, so that no two requests are one member of the set.
    const cutOff: CutOff = (failure) => onCutOff(failure);
    this.#held.add(cutOff);
    this.#entered += 1;
    let bytes = 0;
    return {
      grow: (more) => {
        if (this.#bodyBytes + more > this.#limits.bodyBytes) {
          // Its body is thrown away, and what it had must not keep others out while the rest of it comes.
          this.#bodyBytes -= bytes;
          bytes = 0;
          throw this.#overloaded('body bytes', this.#limits.bodyBytes);
        }
        bytes += more;
        this.#bodyBytes += more;
      },
      release: () => {
        if (this.#held.delete(cutOff)) this.#release(bytes);
      },
    };
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
    for (const cutOff of this.#held) {
      cutOff(
        new Failure('shutting_down', 'this gateway has stopped; send the request again to another one', {
          admitted: 'unknown',
        }),
      );
    }
  }

  #release(bytes: number): void {
    this.#bodyBytes -= bytes;
    if (this.#state === 'closing' && this.requests === 0) this.#idle.resolve();
  }

  #overloaded(what: string, limit: number): Failure {
    return new Failure('gateway_overloaded', `this gateway already holds ${limit} ${what}; add gateways`, {
      evidence: { heldRequests: this.requests, heldBodyBytes: this.#bodyBytes },
    });
  }
}
