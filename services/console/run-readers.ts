import { RunReader, type RunReaderDeps } from './run-reader.ts';
import type { Session } from './sessions.ts';

/** A run that no page asks for is closed; the next page reads its index again. */
const idleMs = 60_000;
const mostOpen = 12;

/** Runs that people look at now. Sessions of one key share them; no other key sees them. */
export class RunReaders {
  readonly #deps: RunReaderDeps;
  readonly #open = new Map<string, Promise<RunReader>>();

  constructor(deps: RunReaderDeps) {
    this.#deps = deps;
  }

  async of(session: Session, run: string): Promise<RunReader> {
    await this.#closeIdle();
    const name = JSON.stringify([session.key, run]);
    const opening = this.#open.get(name) ?? RunReader.open(session, run, this.#deps);
    this.#open.set(name, opening);
    opening.catch(() => this.#open.delete(name));
    return opening;
  }

  /** The worst finding of a run that is open; null: it is not, or it has none. */
  async findingOf(session: Session, run: string): Promise<string | null> {
    const reader = await this.#open.get(JSON.stringify([session.key, run]));
    return reader?.worstFinding ?? null;
  }

  async closeOf({ key }: Session): Promise<void> {
    await this.#close((name) => name.startsWith(JSON.stringify([key]).slice(0, -1)));
  }

  async closeAll(): Promise<void> {
    await this.#close(() => true);
  }

  async #closeIdle(): Promise<void> {
    const nowMs = this.#deps.clock.monotonicMs();
    const used = new Map<string, number>();
    for (const [name, opening] of this.#open) used.set(name, (await opening).usedAtMs);
    const inOrder = [...used].toSorted(([, one], [, other]) => other - one);
    const old = inOrder.filter(([, usedAtMs], place) => nowMs - usedAtMs > idleMs || place >= mostOpen - 1);
    const names = new Set(old.map(([name]) => name));
    await this.#close((name) => names.has(name));
  }

  async #close(isChosen: (name: string) => boolean): Promise<void> {
    const chosen = [...this.#open].filter(([name]) => isChosen(name));
    for (const [name] of chosen) this.#open.delete(name);
    await Promise.all(chosen.map(async ([, opening]) => (await opening).close()));
  }
}
