import { link, mkdir, open, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '#src/ports/clock.ts';
import type { Log } from '#src/ports/log.ts';
import type { Random } from '#src/ports/random.ts';
import type { BatchWriter } from './gather.ts';

type FolderWriterOptions = {
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
  readonly onWritten?: (bytes: number) => void;
  /** Before the next file is begun, in place of {@link makeRoom} by these options. */
  readonly makeRoom?: () => Promise<void>;
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
    await (options.makeRoom ?? (() => makeRoom(options)))();
  };

  const write = async (bytes: Buffer): Promise<void> => {
    const first = { day: dayOf(clock.nowMs()), writer, number: 1 };
    const next = file === null ? first : nextFile(file, writtenBytes, clock.nowMs(), options.maxFileBytes);
    if (next !== file) await turnTo(next);
    await appendDurably(join(folder, fileName(next)), bytes);
    writtenBytes += bytes.length;
    options.onWritten?.(bytes.length);
  };
  return { place: folder, write };
}

type RoomOptions = Pick<FolderWriterOptions, 'folder' | 'clock' | 'keepDays' | 'keepBytes' | 'log'>;

/** What is old goes silently; what goes because there is no room for it was still wanted, and is told. */
export async function makeRoom({ folder, clock, keepDays, keepBytes, log }: RoomOptions): Promise<void> {
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

/** Of all files of a folder that processes write their lines to. */
export async function bytesIn(folder: string): Promise<number> {
  return (await keptFiles(folder)).reduce((sum, { bytes }) => sum + bytes, 0);
}

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
async function appendDurably(path: string, bytes: Buffer): Promise<void> {
  const handle = await open(path, 'a', 0o600);
  try {
    await handle.appendFile(bytes);
    await handle.datasync();
  } finally {
    await handle.close();
  }
}

/**
 * Names of event log files: `events-2026-11-21-<process>-<random>-000001.jsonl`. The day first, so that names sort by time; the
 * writer, `<process>-<random>`, so that processes sharing a folder never write to the same file and a person sees whose it is.
 */
type EventFile = { readonly day: string; readonly writer: string; readonly number: number };

const namePattern = /^events-(\d{4}-\d\d-\d\d)-([0-9a-z-]+)-(\d{6})\.jsonl$/;
const dayMs = 24 * 60 * 60 * 1000;

function fileName({ day, writer, number }: EventFile): string {
  return `events-${day}-${writer}-${String(number).padStart(6, '0')}.jsonl`;
}

/** The inverse of {@link fileName}; null for a file of somebody else. */
export function parseFileName(name: string): EventFile | null {
  const [, day, writer, number] = namePattern.exec(name) ?? [];
  if (day === undefined || writer === undefined) return null;
  return { day, writer, number: Number(number) };
}

/** The UTC day of an instant, `2026-11-21`. */
function dayOf(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10);
}

/** Where the next line goes: another file each day, and when `maxFileBytes` would be passed. */
function nextFile(current: EventFile, writtenBytes: number, nowMs: number, maxFileBytes: number): EventFile {
  const day = dayOf(nowMs);
  const stays = day === current.day && writtenBytes < maxFileBytes;
  return stays ? current : { ...current, day, number: current.number + 1 };
}

/** The names that are older than `keepDays` days; foreign files are never among them. */
function outdated(names: readonly string[], nowMs: number, keepDays: number): readonly string[] {
  const oldest = dayOf(nowMs - keepDays * dayMs);
  return names.filter((name) => {
    const file = parseFileName(name);
    return file !== null && file.day < oldest;
  });
}

type KeptFile = { readonly name: string; readonly bytes: number; readonly writtenAtMs: number };

/** Those that were written longest ago, as many as must go for the others to have at most `keepBytes`. */
function tooMany(files: readonly KeptFile[], keepBytes: number): readonly KeptFile[] {
  let bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  const dropped: KeptFile[] = [];
  for (const file of files.toSorted((one, other) => one.writtenAtMs - other.writtenAtMs)) {
    if (bytes <= keepBytes) break;
    bytes -= file.bytes;
    dropped.push(file);
  }
  return dropped;
}

const idFile = 'log-id';
const idLength = 16;
const idPattern = /^[0-9a-z]{16}$/;

/**
 * The name of a folder of events among all of the fleet, kept in it: whoever starts on the folder again, or shares it, tells
 * the same log. Of a folder that cannot be used it is a new one each time.
 */
export async function logIdOf(folder: string, random: Random): Promise<string> {
  const id = random.text(idLength);
  const path = join(folder, idFile);
  // A link appears with all that is in it: of two that come at once one is first, and the other never reads half a name.
  const draft = `${path}.${id}`;
  try {
    await mkdir(folder, { recursive: true });
    await writeFile(draft, id, { mode: 0o600 });
    await link(draft, path).catch(() => undefined);
    const kept = await readFile(path, 'utf8');
    return idPattern.test(kept) ? kept : id;
  } catch {
    return id;
  } finally {
    await rm(draft, { force: true }).catch(() => undefined);
  }
}
