import type { ProbeDependency } from '#src/ports/dependency-probe.ts';
import type { Chance } from '../engine/chance.ts';
import type { Faults } from '../engine/faults.ts';
import type { SimProcess } from '../engine/process.ts';
import type { Scheduler } from '../engine/scheduler.ts';

/** A probe whose result was sent to fleet state: when it began, and when its gateway knew that it was recorded; null: not yet. */
export type RecordedProbe = {
  readonly beganMs: number;
  recordedMs: number | null;
  readonly failed: boolean;
};

/** The backend of the simulated tools: it fails for a while in some worlds, and gateways probe it over a network of their own. */
export class Backend {
  readonly recorded: RecordedProbe[] = [];
  /** Probes that a gateway could not make. */
  unmade = 0;
  readonly #scheduler: Scheduler;
  readonly #faults: Faults;
  readonly #outages: readonly { readonly fromMs: number; readonly untilMs: number }[];

  constructor(scheduler: Scheduler, faults: Faults, chance: Chance) {
    this.#scheduler = scheduler;
    this.#faults = faults;
    this.#outages = faults.calm ? [] : outagesOf(chance);
  }

  isDown(): boolean {
    const { nowMs } = this.#scheduler;
    return (
      !this.#faults.over && this.#outages.some(({ fromMs, untilMs }) => fromMs <= nowMs && nowMs < untilMs)
    );
  }

  /** What a probe answers is decided when it arrives; some are late, and some cannot be made. */
  probeFrom({ clock }: SimProcess, chance: Chance): ProbeDependency {
    return async () => {
      if (!this.#faults.calm && !this.#faults.over && chance.happens(0.1)) {
        this.unmade += 1;
        throw new Error('this gateway cannot probe now');
      }
      await clock.sleep(chance.between(5, 100));
      const failed = this.isDown() ? 'answered 503' : null;
      await clock.sleep(chance.happens(0.1) ? chance.between(900, 3_000) : chance.between(5, 100));
      return failed;
    };
  }
}

/** Longer than fleet state may hear of no probe and still call a backend good, so that no call can fall into one unseen. */
const outageMs = [14_000, 24_000] as const;

function outagesOf(chance: Chance) {
  return Array.from({ length: chance.pick([0, 0, 1, 1, 2]) }, () => {
    const fromMs = chance.between(3_000, 40_000);
    return { fromMs, untilMs: fromMs + chance.between(...outageMs) };
  });
}
