import type { Readable } from 'node:stream';
import { setImmediate as afterReading } from 'node:timers/promises';
import { monotonicMs } from '../clock.ts';
import { Capture, type RawCapture } from './capture.ts';

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

/**
 * Node reads a pipe into a new buffer of 64 KiB each time. To the collector they look small, since their bytes lie outside
 * its heap, and so some 40 MB of them pile up under a flood of output before it looks. Young garbage is collected in a
 * millisecond, and with that the pile stays below 8 MB.
 */
const readsBetweenCollections = 128;
let reads = 0;
let collector: NodeJS.GCFunction | null = null;

/** Notes one read of a pipe, whatever its size. */
function noteRead(): void {
  reads = (reads + 1) % readsBetweenCollections;
  if (reads > 0) return;
  collector ??= findCollector();
  collector({ type: 'minor', execution: 'sync' });
}

/**
 * The collector is shown only to code of a context that is made while the flag is set. Not by `--expose-gc` on our own
 * command line: V8 takes compiled code only from who was compiled with the same flags, so that Node would compile all
 * that it brings along anew, which doubles what a start costs.
 */
function findCollector(): NodeJS.GCFunction {
  const { setFlagsFromString } = process.getBuiltinModule('node:v8');
  const { runInNewContext } = process.getBuiltinModule('node:vm');
  setFlagsFromString('--expose-gc');
  const found = runInNewContext('gc') as NodeJS.GCFunction;
  setFlagsFromString('--no-expose-gc');
  return found;
}
