import { isDeepStrictEqual } from 'node:util';
import {
  type BindRequest,
  type Health,
  ownerText,
  protocolVersion,
  type WireOwner,
} from '#src/protocol/sandboxd/wire.ts';
import { WireError } from './wire-error.ts';

type State =
  | { readonly kind: 'unbound' }
  | {
      readonly kind: 'bound' | 'expired';
      readonly owner: WireOwner;
      readonly label: string;
      readonly expiresAtMs: number;
    };

/** Versions of the protocol that we answer: gateways speak theirs and the one before. */
const oldestProtocol = protocolVersion;

const boundElsewhere = () =>
  new WireError('bound_elsewhere', 'this sandbox works for another rollout, and does so for life');

/**
 * Whom this sandbox works for. Fleet state may forget or lie after a failover; this may not:
 *
 *   unbound → bound     the first bind; every other owner is refused from then on, for life
 *   bound   → bound     the same owner again (its first answer was lost): the first expiry and label stay
 *   bound   → expired   its time has passed; nothing is accepted any more while sandboxd ends itself
 *
 * All times are monotonic milliseconds.
 */
export class Binding {
  #state: State = { kind: 'unbound' };

  get state(): Health['state'] {
    return this.#state.kind;
  }

  get owner(): WireOwner | null {
    return this.#state.kind === 'unbound' ? null : this.#state.owner;
  }

  get label(): string | null {
    return this.#state.kind === 'unbound' ? null : this.#state.label;
  }

  expiresInMs(nowMs: number): number | null {
    return this.#state.kind === 'unbound' ? null : Math.max(0, Math.round(this.#state.expiresAtMs - nowMs));
  }

  /** True when this bind was the first. Throws `bound_elsewhere`, `expired` or `protocol_mismatch`. */
  bind(request: BindRequest, nowMs: number): boolean {
    if (request.protocol < oldestProtocol || request.protocol > protocolVersion) {
      throw new WireError('protocol_mismatch', `this sandboxd speaks protocol ${protocolVersion}`);
    }
    if (this.#state.kind === 'unbound') {
      const { owner, expiresInMs, label = '' } = request;
      this.#state = { kind: 'bound', owner, label, expiresAtMs: nowMs + expiresInMs };
      return true;
    }
    this.#refuseExpired();
    if (isDeepStrictEqual(this.#state.owner, request.owner)) return false;
    throw boundElsewhere();
  }

  expire(): void {
    if (this.#state.kind === 'bound') this.#state = { ...this.#state, kind: 'expired' };
  }

  /** `asker`: for which rollout something is asked, where that is said. Throws `not_bound`, `expired` or `bound_elsewhere`. */
  requireBound(asker: string | undefined): void {
    if (this.#state.kind === 'unbound') throw new WireError('not_bound', 'bind a rollout first');
    this.#refuseExpired();
    if (asker !== undefined && asker !== ownerText(this.#state.owner)) throw boundElsewhere();
  }

  requireUnbound(): void {
    if (this.#state.kind !== 'unbound') throw new WireError('already_bound', 'a rollout lives here already');
  }

  #refuseExpired(): void {
    if (this.#state.kind === 'expired') throw new WireError('expired', 'the time of this sandbox has passed');
  }
}
