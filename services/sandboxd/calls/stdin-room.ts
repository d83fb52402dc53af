/** What the commands of a sandbox have not read yet of their open stdin, all together. */
const mostTogetherBytes = 8 * 1024 * 1024;

/**
 * Room that all open stdins of a sandbox share, next to what each of them has for itself. Commands that do not read fill it, and leave the
 * others slower, but not without any.
 */
export class StdinRoom {
  readonly #mostBytes: number;
  readonly #waiting = new Set<() => void>();
  #usedBytes = 0;

  constructor(mostBytes = mostTogetherBytes) {
    this.#mostBytes = mostBytes;
  }

  get freeBytes(): number {
    return Math.max(0, this.#mostBytes - this.#usedBytes);
  }

  take(bytes: number): void {
    this.#usedBytes += bytes;
  }

  giveBack(bytes: number): void {
    this.#usedBytes -= bytes;
    for (const look of this.#waiting) look();
  }

  /** `look` is called when there may be more room, until the returned function is. */
  watch(look: () => void): () => void {
    this.#waiting.add(look);
    return () => void this.#waiting.delete(look);
  }
}
