import { Failure } from '../failure/failure.ts';

/**
 * The memory of a process for all that its gradings read out of sandboxes: artifacts for graders elsewhere, and files for judges.
 * A grading enters when the most bytes that it may read fit, in the order of arrival. It returns what it did not need: most read kilobytes.
 *
 * A grading must not wait for room while it holds some: two that did so could wait for each other until their turns end.
 */
export class ArtifactRoom {
  #freeBytes: number;
  readonly #waiting: { readonly bytes: number; readonly enter: () => void }[] = [];

  constructor(bytes: number) {
    this.#freeBytes = bytes;
  }

  /**
   * Throws what the work throws, and `grader_failed` where there was no room for it in time. `shrink` says how many bytes it
   * holds on to.
   */
  async hold<Result>(
    mostBytes: number,
    patience: AbortSignal,
    work: (shrink: (bytes: number) => void) => Promise<Result>,
  ): Promise<Result> {
    let held = mostBytes;
    if (this.#waiting.length > 0 || this.#freeBytes < held) await this.#enter(held, patience);
    else this.#freeBytes -= held;
    const giveBack = (bytes: number) => {
      held -= bytes;
      this.#freeBytes += bytes;
      this.#letIn();
    };
    try {
      return await work((bytes) => giveBack(Math.max(0, held - bytes)));
    } finally {
      giveBack(held);
    }
  }

  async #enter(bytes: number, patience: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const place = { bytes, enter: resolve };
    this.#waiting.push(place);
    const giveUp = () => {
      const at = this.#waiting.indexOf(place);
      if (at === -1) return;
      this.#waiting.splice(at, 1);
      reject(
        new Failure(
          'grader_failed',
          'this gateway had no memory free in time for the files that its grader reads',
        ),
      );
      // Whoever comes next may need less.
      this.#letIn();
    };
    patience.addEventListener('abort', giveUp, { once: true });
    if (patience.aborted) giveUp();
    await promise.finally(() => patience.removeEventListener('abort', giveUp));
  }

  #letIn(): void {
    for (
      let next = this.#waiting[0];
      next !== undefined && next.bytes <= this.#freeBytes;
      next = this.#waiting[0]
    ) {
      this.#freeBytes -= next.bytes;
      this.#waiting.shift();
      next.enter();
    }
  }
}
