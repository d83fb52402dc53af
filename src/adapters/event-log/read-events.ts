import { type FileHandle, open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { FollowedLines, RolloutEvent } from '#src/ports/event-log.ts';
import type { Wanted } from '#src/protocol/fleet/events.ts';
import { isWanted, parseEvent } from './event-lines.ts';
import { parseFileName } from './log-folder.ts';

/** Of one reading, and longer than any line: some milliseconds of this process where every line is wanted. */
const chunkBytes = 256 * 1024;
const newline = 0x0a;

export const everyRollout: Wanted = { tenant: null, run: null, rollout: null };

/** The events of a folder's rollouts, in no order; a line that a crash cut off is skipped. */
export async function* readEvents(
  folder: string,
  wanted: Wanted = everyRollout,
): AsyncGenerator<RolloutEvent> {
  for await (const { event } of foundIn(folder, wanted, new AbortController().signal)) yield event;
}

/**
 * Lines of the rollouts that are wanted, as they were written; of the newest files first, until the signal aborts. A log
 * has gigabytes and a rollout some lines of them, so bytes are looked through and only lines that may be meant are parsed.
 */
export async function* searchFolder(
  folder: string,
  wanted: Wanted,
  signal: AbortSignal,
): AsyncGenerator<string> {
  for await (const { line } of foundIn(folder, wanted, signal)) yield line;
}

type Found = { readonly line: string; readonly event: RolloutEvent };

async function* foundIn(folder: string, wanted: Wanted, signal: AbortSignal): AsyncGenerator<Found> {
  const mark = Buffer.from(markOf(wanted));
  for (const name of await eventFiles(folder)) {
    for await (const line of linesWith(join(folder, name), mark, signal)) {
      const event = parseEvent(line);
      if (event !== null && isWanted(event, wanted)) yield { line, event };
    }
  }
}

export async function eventFiles(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder).catch((error: unknown) => {
    if (isMissing(error)) return [];
    throw error;
  });
  const ours = names.filter((name) => parseFileName(name) !== null);
  return ours.toSorted().toReversed();
}

/** What every line that is wanted has in it. Percent-encoded parts of a key need no escapes in JSON. */
export function markOf({ tenant, run, rollout }: Wanted): string {
  const parts = [tenant, run, rollout].map((part) =>
    part === null ? null : encodeURIComponent(part.toWellFormed()),
  );
  const known = parts.includes(null) ? parts.findLast((part) => part !== null) : parts.join('/');
  return known === undefined || known === null ? '"key":"' : known;
}

async function* linesWith(path: string, mark: Buffer, signal: AbortSignal): AsyncGenerator<string> {
  for await (const { lines } of chunksWith(path, 0, mark, signal)) yield* lines;
}

/**
 * From a byte on, through one buffer, whatever the file's length: what is read of gigabytes is not left to be collected.
 * A last line without its end is not read: it is still being written, or a crash cut it off.
 */
export async function* chunksWith(
  path: string,
  fromByte: number,
  mark: Buffer,
  signal: AbortSignal,
): AsyncGenerator<FollowedLines, 'end' | 'gone'> {
  const file = await openOrNull(path);
  if (file === null) return 'gone';
  const buffer = Buffer.allocUnsafe(2 * chunkBytes);
  let [kept, readTo] = [0, fromByte];
  try {
    while (!signal.aborted) {
      const { bytesRead } = await file.read(buffer, kept, chunkBytes, readTo + kept);
      if (bytesRead === 0) return 'end';
      const bytes = buffer.subarray(0, kept + bytesRead);
      const end = bytes.lastIndexOf(newline) + 1;
      const lines = [...hitsIn(bytes.subarray(0, end), mark)];
      // What is no line by then is none of ours.
      const isTooLong = bytes.length - end > chunkBytes;
      kept = isTooLong ? 0 : buffer.copy(buffer, 0, end, bytes.length);
      readTo += isTooLong ? bytes.length : end;
      yield { lines, readTo };
    }
    return 'end';
  } finally {
    await file.close();
  }
}

/** Null: the log was full, and this was its oldest file. */
const openOrNull = (path: string): Promise<FileHandle | null> =>
  open(path).catch((error: unknown) => {
    if (isMissing(error)) return null;
    throw error;
  });

function* hitsIn(bytes: Buffer, mark: Buffer): Generator<string> {
  let from = 0;
  for (;;) {
    const hit = bytes.indexOf(mark, from);
    if (hit === -1) return;
    const start = bytes.lastIndexOf(newline, hit) + 1;
    const end = bytes.indexOf(newline, hit);
    yield bytes.toString('utf8', start, end);
    from = end + 1;
  }
}

const isMissing = (error: unknown) => error instanceof Error && 'code' in error && error.code === 'ENOENT';
