import type { RolloutKey } from '#src/model/rollout.ts';
import type { Beginning, GatewayStore, Kept, Word } from '#src/ports/fleet/gateways.ts';
import type { RolloutRecord } from '#src/ports/fleet/records.ts';
import { fakeRollout } from './rollout-record.ts';

/** Gateways of a fleet in which nothing is lost unless a test says so, and what was said of each request. */
export class FakeGatewayStore implements GatewayStore {
  readonly said: string[] = [];
  /** Thrown by every method until it is taken away. */
  failure: Error | null = null;
  /** Awaited before each answer. */
  gate: Promise<void> = Promise.resolve();
  /** What `begin` answers in turn; then another gateway listens. */
  beginnings: Beginning[] = [];
  /** What `keep` answers in turn; then nothing is lost. */
  kept: Kept[] = [];
  /** What `sweep` answers in turn. */
  portions: { readonly cursor: string | null; readonly lost: readonly RolloutRecord[] }[] = [];

  appear = (gateway: string): Promise<void> => this.#say(`appear ${gateway}`, () => undefined);
  begin = (gateway: string, openMs: number): Promise<Beginning> =>
    this.#say(`begin ${gateway} ${openMs}`, () => this.beginnings.shift() ?? { kind: 'joined', atMs: 0 });
  sweep: GatewayStore['sweep'] = (cursor, beforeMs) =>
    this.#say(
      `sweep ${cursor} before ${beforeMs}`,
      () => this.portions.shift() ?? { cursor: null, lost: [] },
    );
  keep = (gateway: string, { inHand, leavingMs }: Word = {}): Promise<Kept> =>
    this.#say(
      `keep ${gateway}${inHand === undefined ? '' : ` in hand ${inHand.join(' ')}`}${leavingMs === undefined ? '' : ` leaving ${leavingMs}`}`,
      () => this.kept.shift() ?? { isForgotten: false, lost: [] },
    );
  enter = (_gateway: string, rollout: RolloutKey): Promise<void> =>
    this.#say(`enter ${rollout}`, () => undefined);
  leave = (_gateway: string, rollout: RolloutKey): Promise<void> =>
    this.#say(`leave ${rollout}`, () => undefined);
  lose: GatewayStore['lose'] = (rollout, evidence) =>
    this.#say(`lose ${rollout} ${Object.values(evidence).join(' ')}`, () => fakeRollout({ key: rollout }));
  end = (gateway: string): Promise<void> => this.#say(`end ${gateway}`, () => undefined);

  async #say<Result>(what: string, answer: () => Result): Promise<Result> {
    await this.gate;
    if (this.failure !== null) throw this.failure;
    this.said.push(what);
    return answer();
  }
}
