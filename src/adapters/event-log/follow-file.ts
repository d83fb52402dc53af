import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { FollowedLines } from '#src/ports/event-log.ts';
import type { FilePlace, LogFile, Wanted } from '#src/protocol/fleet/events.ts';
import { isWanted, parseEvent } from './event-lines.ts';
import { parseFileName } from './log-folder.ts';
import { chunksWith, eventFiles, markOf } from './read-events.ts';

/*
 * Follows a folder of events by a cursor: for each file the byte up to which it was read. A file only grows, has one writer and is
 * never begun twice, so a reader that comes back to its byte misses nothing and reads nothing twice, over restarts and rotation.
 */

/** Longer than the start of any event. */
const headBytes = 4096;

/** The files of a folder in the order of their names; one that is removed meanwhile is left out. */
export async function filesOf(folder: string): Promise<readonly LogFile[]> {
  const names = (await eventFiles(folder)).toReversed();
  const files = await Promise.all(names.map((name) => fileOf(folder, name)));
  return files.filter((file) => file !== null);
}

async function fileOf(folder: string, name: string): Promise<LogFile | null> {
  const file = await open(join(folder, name)).catch(() => null);
  if (file === null) return null;
  try {
    const { size } = await file.stat();
    const { buffer, bytesRead } = await file.read(Buffer.alloc(headBytes), 0, headBytes, 0);
    return { name, bytes: size, first_at_ms: firstAtMs(buffer.toString('utf8', 0, bytesRead)) };
  } finally {
    await file.close();
  }
}

/** The first line may be longer than the head; every event says when it happened before what it says at length. */
function firstAtMs(head: string): number | null {
  const [, digits] = /"atMs":(\d{1,16})/.exec(head) ?? [];
  return digits === undefined ? null : Number(digits);
}

/** The wanted lines of one file from a byte on. */
export async function* followFile(
  folder: string | null,
  { file, fromByte }: FilePlace,
  wanted: Wanted,
  signal: AbortSignal,
): AsyncGenerator<FollowedLines, 'end' | 'gone'> {
  // The name comes from a request: nothing but a file of events is opened.
  if (folder === null || parseFileName(file) === null) return 'gone';
  const chunks = chunksWith(join(folder, file), fromByte, Buffer.from(markOf(wanted)), signal);
  try {
    for (;;) {
      const { done, value } = await chunks.next();
      if (done === true) return value;
      yield { ...value, lines: value.lines.filter((line) => isWantedLine(line, wanted)) };
    }
  } finally {
    // A reader that has enough leaves the file open otherwise.
    await chunks.return('end');
  }
}

function isWantedLine(line: string, wanted: Wanted): boolean {
  const event = parseEvent(line);
  return event !== null && isWanted(event, wanted);
}
