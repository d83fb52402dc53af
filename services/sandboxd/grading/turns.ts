import { nothingCaptured } from '../command/capture.ts';
import type { CommandResult } from '../command/run-command.ts';

/**
 * One turn at a time. Fleet state gives a turn up when its time has passed, for instance because its gateway died, and
 * begins the next: whatever still runs here of an earlier one is ended first, and one that comes late is not run at all.
 */
export class Turns {
  #latest = 0;
  #stop = new AbortController();
  #over: Promise<unknown> = Promise.resolve();

  async take<Result extends { readonly result: CommandResult }>(
    turn: number,
    cancel: AbortSignal,
    run: (stop: AbortSignal) => Promise<Result>,
  ): Promise<Result | { readonly result: CommandResult }> {
    return (await this.alone(turn, cancel, run)) ?? { result: cancelled };
  }

  /** Work of a turn, with nothing of any other beside it. Null: it was cancelled, or a later turn has begun, before it ran. */
  async alone<Result>(
    turn: number,
    cancel: AbortSignal,
    run: (stop: AbortSignal) => Promise<Result>,
  ): Promise<Result | null> {
    if (turn < this.#latest) return null;
    if (turn > this.#latest) {
      this.#stop.abort();
      this.#stop = new AbortController();
    }
    this.#latest = turn;
    const stop = abortedBy(cancel, this.#stop.signal);
    const before = this.#over;
    const running = before.then(() => (stop.aborted ? null : run(stop)));
    this.#over = running.catch(() => undefined);
    return running;
  }
}

const cancelled: CommandResult = {
  ending: { kind: 'cancelled' },
  stdout: nothingCaptured,
  stderr: nothingCaptured,
  durationMs: 0,
  escapedProcesses: 0,
  backgroundProcesses: 0,
};

/**
 * What `AbortSignal.any` is for. That one looks for its sources only when it is asked, and no longer finds one that was
 * aborted and then forgotten, as a turn's is as soon as the next one begins.
 */
function abortedBy(...sources: readonly AbortSignal[]): AbortSignal {
  const either = new AbortController();
  const abort = () => either.abort();
  for (const source of sources) {
    if (source.aborted) abort();
    source.addEventListener('abort', abort, { once: true });
  }
  return either.signal;
}
