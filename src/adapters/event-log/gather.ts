import type { Clock } from '#src/ports/clock.ts';
import type { Log } from '#src/ports/log.ts';

/** Where lines go, many at a time. */
export type BatchWriter = {
  /** For whoever has to fix it. */
  readonly place: string;
  readonly write: (text: string) => Promise<void>;
};

export type Gathered = {
  /** `what` says of a line that is dropped what it was about. */
  add(line: string, what: string): void;
  flush(): Promise<void>;
};

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
      const text = buffer.take();
      await write(text).catch((error: unknown) => {
        onDropped(linesIn(text));
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

const linesIn = (text: string): number => text.split('\n').length - 1;

/** Lines that wait for the disk, at most `maxBytes` of them. */
class LineBuffer {
  readonly #maxBytes: number;
  #lines: string[] = [];
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get empty(): boolean {
    return this.#lines.length === 0;
  }

  /** Whether there was room for it. */
  add(line: string): boolean {
    const bytes = Buffer.byteLength(line);
    if (this.#bytes + bytes > this.#maxBytes) return false;
    this.#lines.push(line);
    this.#bytes += bytes;
    return true;
  }

  /** Takes everything out as one text. */
  take(): string {
    const text = this.#lines.join('');
    this.#lines = [];
    this.#bytes = 0;
    return text;
  }
}
