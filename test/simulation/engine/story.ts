import type { Scheduler } from './scheduler.ts';

/** What stands before a line that nobody in the world says or does. */
export const marks = { fault: '✗', state: '·' } as const;

/**
 * What a person is told of a run: who did what when. Part of the trace, so a replay tells the same story. Sandboxes are
 * called by short names in the order in which they are made: ids are for machines.
 */
export class Story {
  readonly lines: string[] = [];
  readonly #scheduler: Scheduler;
  readonly #shortNames = new Map<string, string>();

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
  }

  tell(who: string, what: string): void {
    this.#write(who, what);
    this.mark(`${who} ${what}`);
  }

  /** Something goes wrong, and we did it. */
  fault(who: string, what: string): void {
    this.#write(who, `${marks.fault} ${what}`);
  }

  /** How fleet state took it: told to a reader, and no part of the trace, since what led to it is. */
  state(who: string, what: string): void {
    this.#write(who, `${marks.state} ${what}`);
  }

  /** Adds to the trace without a word. */
  mark(text: string): void {
    this.#scheduler.mark(text);
  }

  #write(who: string, what: string): void {
    const seconds = (this.#scheduler.nowMs / 1000).toFixed(3).padStart(8);
    this.lines.push(`${seconds}  ${this.#named(who).padEnd(12)}  ${this.#named(what)}`);
  }

  #named(text: string): string {
    return text.replaceAll(sandboxId, (id) => {
      const known = this.#shortNames.get(id) ?? `box-${this.#shortNames.size + 1}`;
      this.#shortNames.set(id, known);
      return known;
    });
  }
}

/** As the product names them: the template's hash, then chance. */
const sandboxId = /\bs[0-9a-f]{4}-[0-9a-z]{13}\b/g;
