import type { RolloutKey } from '#src/model/rollout.ts';
import type { Beginning, GatewayStore } from '#src/ports/fleet/gateways.ts';
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
  /** What `sweep` answers in turn. */
  portions: { readonly cursor: string | null; readonly lost: readonly RolloutRecord[] }[] = [];

  appear = (gateway: string): Promise<void> => this.#say(`appear ${gateway}`, undefined);
  begin = (gateway: string, sinceMs?: number): Promise<Beginning> =>
    this.#say(
      `begin ${gateway}${sinceMs === undefined ? '' : ` since ${sinceMs}`}`,
      () => this.beginnings.shift() ?? ({ kind: 'joined' } as const),
    );
  sweep: GatewayStore['sweep'] = (cursor, beforeMs) =>
    this.#say(
      `sweep ${cursor} before ${beforeMs}`,
      () => this.portions.shift() ?? { cursor: null, lost: [] },
    );
  keep = (gateway: string): Promise<readonly RolloutRecord[]> => this.#say(`keep ${gateway}`, () => []);
  enter = (_gateway: string, request: string, rollout: RolloutKey): Promise<void> =>
    this.#say(`enter ${request} ${rollout}`, undefined);
  leave = (_gateway: string, request: string, rollout: RolloutKey): Promise<void> =>
    this.#say(`leave ${request} ${rollout}`, undefined);
  lose: GatewayStore['lose'] = (rollout, evidence, suspected) =>
    this.#say(
      `lose ${rollout} ${Object.values(evidence).join(' ')}${suspected === null ? '' : ` (${suspected})`}`,
      () => fakeRollout({ key: rollout }),
    );
  end = (gateway: string): Promise<void> => this.#say(`end ${gateway}`, undefined);

  async #say<Result>(what: string, answer: Result | (() => Result)): Promise<Result> {
    await this.gate;
    if (this.failure !== null) throw this.failure;
    this.said.push(what);
    return answer instanceof Function ? answer() : answer;
  }
}
