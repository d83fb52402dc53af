/**
 * Names of event log files: `events-2026-11-21-<process>-<random>-000001.jsonl`. The day first, so that names sort by time; the
 * writer, `<process>-<random>`, so that processes sharing a folder never write to the same file and a person sees whose it is.
 */
export type EventFile = { readonly day: string; readonly writer: string; readonly number: number };

const namePattern = /^events-(\d{4}-\d\d-\d\d)-([0-9a-z-]+)-(\d{6})\.jsonl$/;
const dayMs = 24 * 60 * 60 * 1000;

export function fileName({ day, writer, number }: EventFile): string {
  return `events-${day}-${writer}-${String(number).padStart(6, '0')}.jsonl`;
}

/** The inverse of {@link fileName}; null for a file of somebody else. */
export function parseFileName(name: string): EventFile | null {
  const [, day, writer, number] = namePattern.exec(name) ?? [];
  if (day === undefined || writer === undefined) return null;
  return { day, writer, number: Number(number) };
}

/** The UTC day of an instant, `2026-11-21`. */
export function dayOf(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10);
}

/** Where the next line goes: another file each day, and when `maxFileBytes` would be passed. */
export function nextFile(
  current: EventFile,
  writtenBytes: number,
  nowMs: number,
  maxFileBytes: number,
): EventFile {
  const day = dayOf(nowMs);
  const stays = day === current.day && writtenBytes < maxFileBytes;
  return stays ? current : { ...current, day, number: current.number + 1 };
}

/** The names that are older than `keepDays` days; foreign files are never among them. */
export function outdated(names: readonly string[], nowMs: number, keepDays: number): readonly string[] {
  const oldest = dayOf(nowMs - keepDays * dayMs);
  return names.filter((name) => {
    const file = parseFileName(name);
    return file !== null && file.day < oldest;
  });
}

export type KeptFile = { readonly name: string; readonly bytes: number; readonly writtenAtMs: number };

/** Those that were written longest ago, as many as must go for the others to have at most `keepBytes`. */
export function tooMany(files: readonly KeptFile[], keepBytes: number): readonly KeptFile[] {
  let bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  const dropped: KeptFile[] = [];
  for (const file of files.toSorted((one, other) => one.writtenAtMs - other.writtenAtMs)) {
    if (bytes <= keepBytes) break;
    bytes -= file.bytes;
    dropped.push(file);
  }
  return dropped;
}
