import { appendFileSync, mkdirSync, renameSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import type { Clock } from '#src/ports/clock.ts';

/** Two files of this size a part: enough for hours of ordinary talk, and a bound for a part that floods. */
const defaultMaxBytes = 8 * 1024 * 1024;
/** A stack trace with its message, which stands first. */
const keptLines = 20;

export type LogFile = {
  readonly path: string;
  /** Reads the stream line by line until it ends. */
  take(stream: Readable): void;
  /** The last lines, oldest first. */
  tail(): readonly string[];
};

/** A part's log, one JSON object a line. Other lines are wrapped as `{"time","text"}`. */
export function openLogFile(path: string, clock: Pick<Clock, 'nowMs'>, maxBytes = defaultMaxBytes): LogFile {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  let size = sizeOf(path);
  let last: readonly string[] = [];
  const write = (line: string) => {
    const entry = `${line.startsWith('{') ? line : JSON.stringify({ time: new Date(clock.nowMs()).toISOString(), text: line })}\n`;
    if (size + entry.length > maxBytes) {
      renameSync(path, path.replace(/(\.\w+)$/, '.1$1'));
      size = 0;
    }
    appendFileSync(path, entry);
    size += Buffer.byteLength(entry);
    last = [...last, line].slice(-keptLines);
  };
  const take = (stream: Readable) => {
    createInterface({ input: stream }).on('line', (line) => line.trim() !== '' && write(line));
  };
  return { path, take, tail: () => last };
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
