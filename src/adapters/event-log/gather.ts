import { visibleLine } from '#src/model/visible-text.ts';
import type { Clock } from '#src/ports/clock.ts';
import type { Log } from '#src/ports/log.ts';

/** Where lines go, many at a time. */
export type BatchWriter = {
  /** For whoever has to fix it. */
  readonly place: string;
  readonly write: (bytes: Buffer) => Promise<void>;
};

export type Gathered = {
  /** `what` says of a line that is dropped what it was about. */
  add(line: Buffer, what: string): void;
  flush(): Promise<void>;
};

/** Each line is encoded once, for every place that it goes to. */
export const encodeLine = (text: string): Buffer => Buffer.from(`${visibleLine(text)}\n`);

/** Lines are gathered this long between two writes: a crash may lose as much, and Redis still has it then. */
const gatherMs = 100;

/*
 *   idle      nothing waits
 *   writing   one batch is on its way; what is added meanwhile is the next batch
 *
 * A batch that cannot be written is told and dropped, like lines beyond the buffer: the log is evidence beside the
 * fleet's state, and a full disk must not stop rollouts.
 */
export function gather(
  { place, write }: BatchWriter,
  { clock, log, maxBufferedBytes, onDropped = () => undefined }: GatherOptions,
): Gathered {
  const buffer = new LineBuffer(maxBufferedBytes);
  let writing: Promise<void> | null = null;
  /** Aborted by a flush, until all that it found is written. */
  let hurry = new AbortController();

  const writeAll = async (): Promise<void> => {
    while (!buffer.empty) {
      const lines = buffer.take();
      await write(joined(lines)).catch((error: unknown) => {
        onDropped(lines.length);
        log.error('events could not be written', { place, error: String(error) });
      });
      await clock.sleep(gatherMs, hurry.signal);
    }
    writing = null;
    hurry = new AbortController();
  };

  return {
    add: (line, what) => {
      if (!buffer.add(line)) {
        onDropped(1);
        log.error('the event log is too slow: an event was dropped', { place, key: what });
      }
      writing ??= writeAll();
    },
    flush: () => {
      if (writing !== null) hurry.abort('flush');
      return writing ?? Promise.resolve();
    },
  };
}

type GatherOptions = {
  readonly clock: Pick<Clock, 'sleep'>;
  readonly log: Log;
  readonly maxBufferedBytes: number;
  readonly onDropped?: ((lines: number) => void) | undefined;
};

const joined = (lines: readonly Buffer[]): Buffer => {
  const [only, ...others] = lines;
  return only !== undefined && others.length === 0 ? only : Buffer.concat(lines);
};

/** Lines that wait for the disk, at most `maxBytes` of them. */
class LineBuffer {
  readonly #maxBytes: number;
  #lines: Buffer[] = [];
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get empty(): boolean {
    return this.#lines.length === 0;
  }

  /** Whether there was room for it. */
  add(line: Buffer): boolean {
    if (this.#bytes + line.length > this.#maxBytes) return false;
    this.#lines.push(line);
    this.#bytes += line.length;
    return true;
  }

  take(): readonly Buffer[] {
    const lines = this.#lines;
    this.#lines = [];
    this.#bytes = 0;
    return lines;
  }
}
