import { write } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Clock } from '#src/ports/clock.ts';
import type { EventLog } from '#src/ports/event-log.ts';
import type { Log } from '#src/ports/log.ts';
import type { Random } from '#src/ports/random.ts';
import { type BatchWriter, encodeLine, gather } from './gather.ts';
import { createFolderWriter } from './log-folder.ts';
import { filesOf, followFile } from './follow-file.ts';
import { searchFolder } from './read-events.ts';

export type EventLogOptions = {
  /** Null: no files, and nothing to read. */
  readonly folder: string | null;
  /** Every event is a line of standard output too; default: not. */
  readonly stdout?: boolean;
  /** What writes, a-z: part of its files' names. */
  readonly process: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Of all files of the folder, whoever wrote them; default: no bound but the days. */
  readonly maxBytes?: number;
  /** A file is left for the next one at this size; default 64 MiB, what an editor still opens, and a quarter of all files. */
  readonly maxFileBytes?: number;
  /** Lines waiting for the disk; default 8 MiB, some 10,000 events. */
  readonly maxBufferedBytes?: number;
  /** Told of lines that are lost. */
  readonly onDropped?: (lines: number) => void;
  /** Counts bytes that are on the disk. */
  readonly onWritten?: (bytes: number) => void;
  /** Default 14 days. */
  readonly keepDays?: number;
};

const mebibyte = 1024 * 1024;

/** The event log as JSONL: rotating files in a folder, lines of standard output, or both. Each waits for itself alone. */
export function createEventLog(given: EventLogOptions): EventLog {
  const { folder, stdout = false, clock, log, onDropped, maxBufferedBytes = 8 * mebibyte } = given;
  const writers = [
    ...(folder === null
      ? []
      : [createFolderWriter({ ...given, folder, ...boundsOf(given, maxBufferedBytes) })]),
    ...(stdout ? [createStdoutWriter()] : []),
  ];
  const places = writers.map((writer) => gather(writer, { clock, log, maxBufferedBytes, onDropped }));
  return {
    append: (event) => {
      const line = encodeLine(JSON.stringify(event));
      const what = 'key' in event ? event.key : event.kind;
      for (const place of places) place.add(line, what);
    },
    flush: async () => void (await Promise.all(places.map((place) => place.flush()))),
    search: (wanted, signal) => (folder === null ? null : searchFolder(folder, wanted, signal)),
    files: async () => (folder === null ? null : await filesOf(folder)),
    follow: (place, wanted, signal) => followFile(folder, place, wanted, signal),
  };
}

/** A file that is begun has room to be filled, and its last batch to come whole. */
function boundsOf(given: EventLogOptions, maxBufferedBytes: number) {
  const { maxBytes = Number.POSITIVE_INFINITY, keepDays = 14 } = given;
  const maxFileBytes = given.maxFileBytes ?? Math.min(64 * mebibyte, Math.floor(maxBytes / 4));
  return { keepDays, maxFileBytes, keepBytes: Math.max(0, maxBytes - maxFileBytes - maxBufferedBytes) };
}

const standardOutput = 1;
const writeTo = promisify(write);
/** A pipe whose reader is behind: nobody is in a hurry, and what waits is bounded. */
const fullPauseMs = 20;

/**
 * Writes to standard output, where a cluster's log collectors look. Not by `process.stdout`, which stands still with all
 * of this process when nobody reads a pipe; so only the batch waits.
 */
export function createStdoutWriter(): BatchWriter {
  return {
    place: 'standard output',
    write: async (bytes) => {
      let rest = bytes;
      while (rest.length > 0) rest = rest.subarray(await writeSome(rest));
    },
  };
}

async function writeSome(bytes: Buffer): Promise<number> {
  try {
    return (await writeTo(standardOutput, bytes)).bytesWritten;
  } catch (thrown) {
    if (!(thrown instanceof Error && 'code' in thrown && thrown.code === 'EAGAIN')) throw thrown;
    await sleep(fullPauseMs);
    return 0;
  }
}
