import type { SandboxId } from '../model/ids.ts';
import type { KnownSandbox, PoolStore } from '../ports/fleet/pool.ts';

/** Null: it is known no more. Told again where nothing has changed. */
export type OnKnown = (sandbox: SandboxId, known: KnownSandbox | null) => void;

/**
 * Of each reading, of which a controller has three in two seconds: 5,000 sandboxes are through in a minute, for 0.2 ms of
 * Redis each. It is for a move that was missed; all else comes as it moves.
 */
const portion = 50;

/**
 * What fleet state knows of every sandbox, kept up by what has moved: reading it costs what happens, not what is there.
 *
 * It may be behind, by a minute if a move was missed; so it says where to look, and nothing that cannot be
 * undone is done by it alone: each script decides by what fleet state says then. All is read again from another Redis, and
 * from one that was written back.
 */
export class KnownSandboxes {
  readonly #pool: Pick<PoolStore, 'moved'>;
  readonly #known = new Map<SandboxId, KnownSandbox>();
  readonly #seenInTurn = new Map<SandboxId, number>();
  readonly #listeners: OnKnown[] = [];
  #place = '';
  #turn = 0;
  /** Whether all that there are have been seen since it began (again). */
  #isWhole = false;
  #reading: Promise<unknown> = Promise.resolve();

  constructor(pool: Pick<PoolStore, 'moved'>) {
    this.#pool = pool;
  }

  onKnown(listener: OnKnown): void {
    this.#listeners.push(listener);
  }

  /** All sandboxes, of a moment after the call: a reading that began before it may have missed what its caller has seen. */
  async read(): Promise<ReadonlyMap<SandboxId, KnownSandbox>> {
    const reading = this.#reading.then(() => this.#catchUp());
    this.#reading = reading.catch(() => undefined);
    await reading;
    return this.#known;
  }

  async #catchUp(): Promise<void> {
    let isBehind = true;
    while (isBehind || !this.#isWhole) {
      const moved = await this.#pool.moved(this.#place, portion);
      if (moved.startsOver) this.#beginTurn(false);
      for (const [sandbox, known] of moved.sandboxes) this.#note(sandbox, known);
      this.#place = moved.place;
      isBehind = moved.isBehind;
      if (moved.isWhole) this.#endTurn();
    }
  }

  #note(sandbox: SandboxId, known: KnownSandbox | null): void {
    if (known === null) {
      this.#known.delete(sandbox);
      this.#seenInTurn.delete(sandbox);
    } else {
      this.#known.set(sandbox, known);
      this.#seenInTurn.set(sandbox, this.#turn);
    }
    for (const listener of this.#listeners) listener(sandbox, known);
  }

  #beginTurn(isWhole: boolean): void {
    this.#turn += 1;
    this.#isWhole = isWhole;
  }

  #endTurn(): void {
    for (const [sandbox, turn] of this.#seenInTurn) if (turn < this.#turn) this.#note(sandbox, null);
    this.#beginTurn(true);
  }
}
