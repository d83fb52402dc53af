import type { RolloutKey } from '../model/rollout.ts';

/** A file of a log, and how far it was read. */
export type IndexedFile = {
  readonly log: string;
  readonly name: string;
  readonly readTo: number;
  /** Its size when it was last listed. */
  /** Unless it was read to its end since: a last line that a crash cut off is never whole. */
  readonly bytes: number;
  readonly firstAtMs: number | null;
  /** When its log was first and last listed with it. */
  readonly foundAtMs: number;
  readonly listedAtMs: number;
};

/** A log, and the time of its process’ last heartbeat. */
export type IndexedLog = { readonly log: string; readonly keeper: string; readonly heardAtMs: number };

export type IndexedLine = {
  readonly key: RolloutKey;
  readonly atMs: number;
  /** When what it is about began. */
  readonly sinceMs: number;
  readonly line: string;
};

/** The lines of one file from a byte on, up to another. */
export type IndexedPage = {
  readonly log: string;
  readonly file: string;
  readonly fromByte: number;
  readonly readTo: number;
  /** The file had no whole line after these. */
  readonly isAll: boolean;
  readonly lines: readonly IndexedLine[];
};

export type MarkedLine = { readonly mark: number; readonly line: string };

/** Events of one run, next to how far each file of each log was read. Errors say what is wrong with its file. */
export interface EventIndex {
  readonly logs: () => readonly IndexedLog[];
  readonly files: () => readonly IndexedFile[];
  /** What a log has now; files that it no longer has stay known. */
  list(log: IndexedLog, files: readonly Pick<IndexedFile, 'name' | 'bytes' | 'firstAtMs'>[]): void;
  /** All of it or nothing. False: the file was read from there already, by another process. */
  store(page: IndexedPage): boolean;
  /** All events of a rollout one after another, in the order of their time. */
  lines(): Iterable<string>;
  /** Lines that were stored after a mark, in the order in which they were stored; 0: from the first one on. */
  after(mark: number, most: number): readonly MarkedLine[];
  /** All events of one rollout, in the order of their time. */
  linesOf(key: RolloutKey): readonly string[];
  /** From when to when its events are; null if it has none. */
  span(): { readonly sinceMs: number; readonly lastAtMs: number } | null;
  close(): void;
}
