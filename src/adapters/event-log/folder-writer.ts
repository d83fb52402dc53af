import { mkdir, open, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '#src/ports/clock.ts';
import type { Log } from '#src/ports/log.ts';
import type { Random } from '#src/ports/random.ts';
import type { BatchWriter } from './gather.ts';
import {
  dayOf,
  type EventFile,
  fileName,
  type KeptFile,
  nextFile,
  outdated,
  parseFileName,
  tooMany,
} from './files.ts';

export type FolderWriterOptions = {
  readonly folder: string;
  /** What writes, a-z: part of its files' names. */
  readonly process: string;
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly random: Random;
  readonly log: Log;
  /** A file is left for the next one at this size. */
  readonly maxFileBytes: number;
  readonly keepDays: number;
  /** Of all files, before the next one is begun; the oldest go first. */
  readonly keepBytes: number;
};

/** Two processes of one name in one folder meet once in 10^12. */
const writerLength = 8;

/** Writes rotating JSONL files in a folder, which is made if need be. Any number of processes may share it. */
export function createFolderWriter(options: FolderWriterOptions): BatchWriter {
  const { folder, clock } = options;
  const writer = `${options.process}-${options.random.text(writerLength)}`;
  let file: EventFile | null = null;
  let writtenBytes = 0;

  const turnTo = async (next: EventFile): Promise<void> => {
    file = next;
    writtenBytes = 0;
    await mkdir(folder, { recursive: true });
    await makeRoom(options);
  };

  const write = async (text: string): Promise<void> => {
    const first = { day: dayOf(clock.nowMs()), writer, number: 1 };
    const next = file === null ? first : nextFile(file, writtenBytes, clock.nowMs(), options.maxFileBytes);
    if (next !== file) await turnTo(next);
    await appendDurably(join(folder, fileName(next)), text);
    writtenBytes += Buffer.byteLength(text);
  };
  return { place: folder, write };
}

/** What is old goes silently; what goes because there is no room for it was still wanted, and is told. */
async function makeRoom({ folder, clock, keepDays, keepBytes, log }: FolderWriterOptions): Promise<void> {
  const old = outdated(await readdir(folder), clock.nowMs(), keepDays);
  await remove(folder, old);
  const dropped = tooMany(await keptFiles(folder), keepBytes);
  if (dropped.length === 0) return;
  await remove(
    folder,
    dropped.map(({ name }) => name),
  );
  log.warn('the event log is full: its oldest files were removed (CORRAL_EVENT_LOG_MAX_BYTES)', {
    files: dropped.length,
    bytes: dropped.reduce((sum, { bytes }) => sum + bytes, 0),
    last: dropped.at(-1)?.name ?? '',
  });
}

const remove = (folder: string, names: readonly string[]) =>
  Promise.all(names.map((name) => rm(join(folder, name), { force: true })));

async function keptFiles(folder: string): Promise<readonly KeptFile[]> {
  const names = (await readdir(folder)).filter((name) => parseFileName(name) !== null);
  const files = await Promise.all(names.map((name) => keptFile(folder, name)));
  return files.filter((file) => file !== null);
}

/** Null: another process that shares the folder was quicker to remove it. */
const keptFile = (folder: string, name: string): Promise<KeptFile | null> =>
  stat(join(folder, name)).then(
    ({ size, mtimeMs }) => ({ name, bytes: size, writtenAtMs: mtimeMs }),
    () => null,
  );

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
