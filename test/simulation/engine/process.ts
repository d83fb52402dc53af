import type { Clock } from '#src/ports/clock.ts';
import type { Scheduler } from './scheduler.ts';

/** The moment at which every world begins, as Redis and wall clocks show it. */
export const worldBeganMs = 1_800_000_000_000;

/**
 * A gateway or controller as the operating system sees it: alive until it is killed, and then nothing of it goes on.
 * Its code cannot be stopped in the middle, but it can be left alone for ever: timers of a dead process do not wake
 * it and its calls are not answered.
 */
export class SimProcess {
  readonly name: string;
  readonly #scheduler: Scheduler;
  readonly #onDeath: (() => void)[] = [];
  /** A busy machine runs timers late, never early. */
  readonly #lateness: number;
  #alive = true;
  #pausedUntilMs = 0;

  constructor(name: string, scheduler: Scheduler, lateness = 1) {
    this.name = name;
    this.#scheduler = scheduler;
    this.#lateness = lateness;
  }

  get alive(): boolean {
    return this.#alive;
  }

  /** `kill -9`. */
  kill(): void {
    this.#alive = false;
    for (const tell of this.#onDeath) tell();
  }

  /** `SIGSTOP` until then: what is told to it meanwhile it hears late, and then all at once. */
  pause(untilMs: number): void {
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, untilMs);
  }

  get pausedUntilMs(): number {
    return this.#pausedUntilMs;
  }

  /** Goes on with something it is told: now, or when it is awake again. A dead process never does. */
  hears(then: () => void): void {
    if (!this.#alive) return;
    const pausedMs = this.#pausedUntilMs - this.#scheduler.nowMs;
    if (pausedMs <= 0) return then();
    this.#scheduler.after(pausedMs, this.name, 'awakes', () => this.hears(then));
  }

  onDeath(tell: () => void): void {
    this.#onDeath.push(tell);
  }

  readonly clock: Clock = {
    nowMs: () => worldBeganMs + this.#scheduler.nowMs,
    monotonicMs: () => this.#scheduler.nowMs,
    sleep: (durationMs, signal) => this.#sleep(durationMs, signal),
  };

  #sleep(durationMs: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted === true) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = () => {
        timer.cancel();
        signal?.removeEventListener('abort', wake);
        this.hears(resolve);
      };
      const timer = this.#scheduler.after(durationMs * this.#lateness, this.name, 'timer', wake);
      signal?.addEventListener('abort', wake, { once: true });
    });
  }
}
