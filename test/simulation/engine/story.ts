import type { Scheduler } from './scheduler.ts';

/** What a person is told of a run: who did what when. Part of the trace, so a replay tells the same story. */
export class Story {
  readonly lines: string[] = [];
  readonly #scheduler: Scheduler;

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
  }

  tell(who: string, what: string): void {
    const seconds = (this.#scheduler.nowMs / 1000).toFixed(3).padStart(9);
    this.lines.push(`${seconds}  ${who.padEnd(12)}  ${what}`);
    this.#scheduler.mark(`${who} ${what}`);
  }
}
