import { mkdir, open, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../ports/clock.ts';
import type { EventLog } from '../../ports/event-log.ts';
import type { Log } from '../../ports/log.ts';
import type { Random } from '../../ports/random.ts';
import { dayOf, fileName, nextFile, outdated } from './files.ts';
import type { EventFile } from './files.ts';
import { LineBuffer } from './line-buffer.ts';
import { readEvents } from './read-events.ts';

/*
 * The event log as rotating JSONL files.
 *
 *   idle      nothing waits
 *   writing   one batch is on its way to the disk; what is appended meanwhile is the next batch
 *
 * A batch that cannot be written is told and dropped, like lines beyond the buffer: the log is evidence beside the
 * fleet's state, and a full disk must not stop rollouts.
 */

export type EventLogOptions = {
  readonly folder: string;
  /** What writes, a-z: part of its files' names. */
  readonly process: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** A file is left for the next one at this size; default 64 MiB, what an editor still opens. */
  readonly maxFileBytes?: number;
  /** Lines waiting for the disk; default 8 MiB, some 10,000 events. */
  readonly maxBufferedBytes?: number;
  /** Default 14 days. */
  readonly keepDays?: number;
};

const defaults = { maxFileBytes: 64 * 1024 * 1024, maxBufferedBytes: 8 * 1024 * 1024, keepDays: 14 };
/** Events are gathered this long between two syncs of the disk: a crash may lose as much, and Redis still has it then. */
const gatherMs = 100;
/** Two processes of one name in one folder meet once in 10^12. */
const writerLength = 8;

/** An event log in `folder`, which is made if need be. Any number of processes may share the folder. */
export function createEventLog(given: EventLogOptions): EventLog {
  const options = { ...defaults, ...given };
  const buffer = new LineBuffer(options.maxBufferedBytes);
  const batches = createBatchWriter(options);
  let writing: Promise<void> | null = null;
  /** Aborted by a flush, until all that it found is written. */
  let hurry = new AbortController();

  const writeAll = async (): Promise<void> => {
    while (!buffer.empty) {
      const text = buffer.take();
      await batches.write(text).catch((error: unknown) => {
        options.log.error('events could not be written', { folder: options.folder, error: String(error) });
      });
      await options.clock.sleep(gatherMs, hurry.signal);
    }
    writing = null;
    hurry = new AbortController();
  };

  return {
    append: (event) => {
      if (!buffer.add(`${JSON.stringify(event)}\n`)) {
        options.log.error('the event log is too slow: an event was dropped', { key: event.key });
      }
      writing ??= writeAll();
    },
    flush: () => {
      if (writing !== null) hurry.abort('flush');
      return writing ?? Promise.resolve();
    },
    read: (filter) => readEvents(options.folder, filter),
  };
}

function createBatchWriter(options: typeof defaults & EventLogOptions) {
  const { folder, clock } = options;
  const writer = `${options.process}-${options.random.text(writerLength)}`;
  let file: EventFile | null = null;
  let writtenBytes = 0;

  const turnTo = async (next: EventFile): Promise<void> => {
    file = next;
    writtenBytes = 0;
    await mkdir(folder, { recursive: true });
    const old = outdated(await readdir(folder), clock.nowMs(), options.keepDays);
    await Promise.all(old.map((name) => rm(join(folder, name), { force: true })));
  };

  const write = async (text: string): Promise<void> => {
    const first = { day: dayOf(clock.nowMs()), writer, number: 1 };
    const next = file === null ? first : nextFile(file, writtenBytes, clock.nowMs(), options.maxFileBytes);
    if (next !== file) await turnTo(next);
    await appendDurably(join(folder, fileName(next)), text);
    writtenBytes += Buffer.byteLength(text);
  };
  return { write };
}

/** Appends and waits until the disk has it. */
async function appendDurably(path: string, text: string): Promise<void> {
  const handle = await open(path, 'a', 0o600);
  try {
    await handle.appendFile(text);
    await handle.datasync();
  } finally {
    await handle.close();
  }
}
