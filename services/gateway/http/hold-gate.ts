import { Failure } from '../../../src/failure/failure.ts';

/*
 * How much one gateway holds. A burst is held rather than refused, so held requests and their bodies are what fills
 * its memory; both are bounded here, and nowhere else. A body counts as the bytes that are kept of it and the heap that its
 * values take once they are parsed.
 *
 *   open      requests come in until a bound is hit, then `gateway_overloaded`
 *   closing   nothing new, `shutting_down`; what is held finishes
 */

export type HoldLimits = { readonly requests: number; readonly bodyBytes: number };

/** One held request. `grow` throws where the bound is hit, and the whole body no longer counts. `release` may be called any number of times. */
export type Hold = { grow(bytes: number): void; release(): void };

export class HoldGate {
  readonly #limits: HoldLimits;
  #requests = 0;
  #bodyBytes = 0;
  #closing = false;
  readonly #idle = Promise.withResolvers<void>();

  constructor(limits: HoldLimits) {
    this.#limits = limits;
  }

  get requests(): number {
    return this.#requests;
  }

  get bodyBytes(): number {
    return this.#bodyBytes;
  }

  get closing(): boolean {
    return this.#closing;
  }

  /** Takes a request in. Throws `Failure` with `shutting_down` or `gateway_overloaded`. */
  enter(): Hold {
    if (this.#closing) {
      throw new Failure('shutting_down', 'this gateway is stopping; send the request again to another one');
    }
    if (this.#requests >= this.#limits.requests) throw this.#overloaded('requests', this.#limits.requests);
    this.#requests += 1;
    let bytes = 0;
    let released = false;
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
        if (released) return;
        released = true;
        this.#leave(bytes);
      },
    };
  }

  /** From now on nothing enters. Resolves when the last held request has left. */
  close(): Promise<void> {
    this.#closing = true;
    if (this.#requests === 0) this.#idle.resolve();
    return this.#idle.promise;
  }

  #leave(bytes: number): void {
    this.#requests -= 1;
    this.#bodyBytes -= bytes;
    if (this.#closing && this.#requests === 0) this.#idle.resolve();
  }

  #overloaded(what: string, limit: number): Failure {
    return new Failure('gateway_overloaded', `this gateway already holds ${limit} ${what}; add gateways`, {
      evidence: { heldRequests: this.#requests, heldBodyBytes: this.#bodyBytes },
    });
  }
}
