import type { Readable } from 'node:stream';
import { setImmediate as afterReading } from 'node:timers/promises';
import { monotonicMs } from '../clock.ts';
import { Capture, type RawCapture } from './capture.ts';
import { noteRead } from './read-buffers.ts';

/** How long pipes must be silent after the command's own end before its output counts as complete. */
const quietMs = 200;
/** A background process that never falls silent must not hold the answer back for longer. */
const longestWaitMs = 2000;

/**
 * Both output streams of a command. Reading goes on for as long as anybody writes: after {@link take} the bytes of
 * background processes are dropped, since a closed pipe would kill them.
 */
export class Output {
  readonly #captures: readonly [Capture, Capture];
  #openStreams = 2;
  #lastWriteMs = monotonicMs();
  #taken = false;
  #onClosed: () => void = () => {};

  constructor(stdout: Readable, stderr: Readable, keepBytes: number) {
    this.#captures = [new Capture(keepBytes), new Capture(keepBytes)];
    this.#read(stdout, this.#captures[0]);
    this.#read(stderr, this.#captures[1]);
  }

  /** Resolves when both streams have ended, or were silent long enough. Call it at the command's own end. */
  async settled(): Promise<void> {
    const endedMs = monotonicMs();
    while (this.#openStreams > 0) {
      // What was written before the end may still be on its way to us: silence counts from the end.
      const quietAtMs = Math.max(this.#lastWriteMs, endedMs) + quietMs;
      const waitMs = Math.min(quietAtMs, endedMs + longestWaitMs) - monotonicMs();
      if (waitMs <= 0) return;
      await this.#closedWithin(waitMs);
      // A loop that stood still runs late timers before it reads: silence is silence only when the pipes were looked at.
      await afterReading();
    }
  }

  /** What was kept; whatever comes later is read and dropped. */
  take(): { readonly stdout: RawCapture; readonly stderr: RawCapture } {
    const [stdout, stderr] = this.#captures;
    this.#taken = true;
    return { stdout: stdout.taken(), stderr: stderr.taken() };
  }

  #read(stream: Readable, capture: Capture): void {
    stream.on('data', (chunk: Buffer) => {
      this.#lastWriteMs = monotonicMs();
      noteRead();
      if (!this.#taken) capture.push(chunk);
    });
    stream.on('error', () => {}); // The peer is gone; 'close' follows and is what counts.
    stream.once('close', () => {
      this.#openStreams -= 1;
      if (this.#openStreams === 0) this.#onClosed();
    });
  }

  #closedWithin(waitMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, waitMs);
      this.#onClosed = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
