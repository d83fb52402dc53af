import type { Random } from '#src/ports/random.ts';
import { shuffled } from '../seeded-random.ts';
import type { RolloutEvent } from '../trainer/record.ts';
import type { RolloutPlan } from '../trainer/rollout.ts';

export type Kill = {
  readonly rollout: string;
  readonly task: string;
  readonly sandbox: string;
  /** Milliseconds since the burst began. */
  readonly atMs: number;
};

type KillerWorld = {
  readonly victims: ReadonlySet<string>;
  readonly sandboxOf: (rollout: string) => Promise<string | null>;
  /** SIGKILL to the sandbox's daemon; false when the sandbox is not there. */
  readonly kill: (sandbox: string) => Promise<boolean>;
  readonly nowMs: () => number;
};

/**
 * Kills the sandbox of each victim once, as soon as it has answered a call. A victim whose sandbox cannot be found yet
 * is tried again after its next answer; one that ends first stays alive, and the demo's expectations will say so.
 */
export class Killer {
  readonly #world: KillerWorld;
  readonly #kills = new Map<string, Kill>();
  readonly #ended = new Set<string>();
  readonly #attempts = new Map<string, Promise<void>>();
  readonly #mistakes: string[] = [];

  constructor(world: KillerWorld) {
    this.#world = world;
  }

  /** Told of every event of every rollout. */
  hear(event: RolloutEvent): void {
    if (!this.#world.victims.has(event.rollout)) return;
    if (event.kind === 'scored' || event.kind === 'discarded') this.#ended.add(event.rollout);
    if (event.kind === 'call answered') this.#attempt(event);
  }

  get kills(): readonly Kill[] {
    return [...this.#kills.values()];
  }

  /** Resolves when no attempt is under way; says what went wrong with those that failed. */
  async settled(): Promise<readonly string[]> {
    await Promise.all(this.#attempts.values());
    return this.#mistakes;
  }

  #attempt(event: RolloutEvent): void {
    if (this.#kills.has(event.rollout) || this.#attempts.has(event.rollout)) return;
    const attempt = this.#strike(event)
      .catch((error: unknown) => {
        this.#mistakes.push(`the sandbox of ${event.rollout} was not killed: ${String(error)}`);
      })
      .finally(() => this.#attempts.delete(event.rollout));
    this.#attempts.set(event.rollout, attempt);
  }

  async #strike({ rollout, task }: RolloutEvent): Promise<void> {
    const sandbox = await this.#world.sandboxOf(rollout);
    if (sandbox === null || this.#ended.has(rollout)) return;
    if (!(await this.#world.kill(sandbox))) return;
    this.#kills.set(rollout, { rollout, task, sandbox, atMs: this.#world.nowMs() });
  }
}

/** These go on for several steps after their first answer, so a kill lands in the middle of the work. */
const longPlays = new Set(['expert', 'over-caller']);

/** Which rollouts lose their sandbox: one of each task before a second of any, long plays before short ones. */
export function chooseVictims(
  plans: readonly RolloutPlan[],
  count: number,
  random: Random,
): readonly RolloutPlan[] {
  const mixed = shuffled(plans, random);
  const longFirst = [...mixed.filter(isLong), ...mixed.filter((plan) => !isLong(plan))];
  const places = new Map<string, number>();
  const inTurns = longFirst.map((plan) => {
    const turn = places.get(plan.item.id) ?? 0;
    places.set(plan.item.id, turn + 1);
    return { plan, turn };
  });
  return inTurns
    .toSorted((a, b) => a.turn - b.turn)
    .slice(0, count)
    .map(({ plan }) => plan);
}

const isLong = (plan: RolloutPlan): boolean => longPlays.has(plan.policy.name);
