import type { SandboxId } from '../model/ids.ts';
import type { Clock } from '../ports/clock.ts';
import { type Deadline, inTime } from '../waiting/deadline.ts';

/** Of the 64 connections that a gateway keeps to one sandbox: the others are for calls, files and grades. */
const mostAtOnce = 8;

type Places = { taken: number; readonly waiting: (() => void)[] };

/** Requests with stdin for commands that do not read are held by their sandbox, so few of them go there at once; the others wait here. */
export class StdinPlaces {
  readonly #clock: Clock;
  readonly #bySandbox = new Map<SandboxId, Places>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Null: no place became free in time, so nothing was done. */
  async hold<Result>(
    sandbox: SandboxId,
    until: Deadline,
    work: () => Promise<Result>,
  ): Promise<Result | null> {
    const places = this.#bySandbox.get(sandbox) ?? { taken: 0, waiting: [] };
    this.#bySandbox.set(sandbox, places);
    if (places.taken < mostAtOnce) places.taken += 1;
    else if (!(await this.#enter(places, until))) return null;
    try {
      return await work();
    } finally {
      this.#leave(sandbox, places);
    }
  }

  /** A request that leaves hands its place on. */
  async #enter({ waiting }: Places, until: Deadline): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<void>();
    waiting.push(resolve);
    const entered = await inTime(this.#clock, until, promise);
    if (entered !== 'late') return true;
    const at = waiting.indexOf(resolve);
    // Handed on in the same moment.
    if (at === -1) return true;
    waiting.splice(at, 1);
    return false;
  }

  #leave(sandbox: SandboxId, places: Places): void {
    const next = places.waiting.shift();
    if (next !== undefined) return next();
    places.taken -= 1;
    if (places.taken === 0) this.#bySandbox.delete(sandbox);
  }
}
