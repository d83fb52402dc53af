import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import type * as Sqlite from 'node:sqlite';
import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { EventIndex } from '#src/ports/event-index.ts';

/*
 * An index of one run's events in SQLite: its lines as they were written, by rollout, and next to them the byte up to which each
 * file was read. Both change in one transaction, so a crash at any time leaves nothing missing and nothing twice.
 */

const schema = `
  CREATE TABLE IF NOT EXISTS logs (log TEXT PRIMARY KEY, keeper TEXT NOT NULL, heard_at_ms REAL NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS files (
    log TEXT NOT NULL, name TEXT NOT NULL, read_to INTEGER NOT NULL, bytes INTEGER NOT NULL, first_at_ms REAL, found_at_ms REAL NOT NULL, listed_at_ms REAL NOT NULL,
    PRIMARY KEY (log, name)
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS events (key TEXT NOT NULL, at_ms REAL NOT NULL, since_ms REAL NOT NULL, line TEXT NOT NULL);
  CREATE INDEX IF NOT EXISTS events_of_rollout ON events (key, at_ms);
`;
const layout = 1;
/** Another command may be storing a page of the same run. */
const busyMs = 10_000;

/** This Node has no `node:sqlite`. */
export class NoSqlite extends Error {}

/** Null path: for this process alone, on disk, and gone with it. Throws {@link NoSqlite}, and what SQLite throws. */
export async function openEventIndex(path: string | null): Promise<EventIndex> {
  const { DatabaseSync: Database } = await importSqlite();
  if (path !== null) makePrivate(path);
  const database = new Database(path ?? '', { timeout: busyMs });
  try {
    prepare(database);
    return indexIn(database);
  } catch (thrown) {
    database.close();
    throw thrown;
  }
}

async function importSqlite(): Promise<typeof Sqlite> {
  try {
    return await import('node:sqlite');
  } catch (cause) {
    const why = `Node ${process.versions.node} has no node:sqlite, which an index of events needs: use Node 22.13 or later`;
    throw new NoSqlite(why, { cause });
  }
}

/** It holds what policies wrote, and for some keys the truth of dataset rows. */
function makePrivate(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  closeSync(openSync(path, 'a', 0o600));
}

function prepare(database: Sqlite.DatabaseSync): void {
  const found = Number(database.prepare('PRAGMA user_version').get()?.['user_version'] ?? 0);
  if (found > layout) throw new Error(`a newer release wrote it, in layout ${found}`);
  database.exec(`PRAGMA synchronous = NORMAL; ${schema} PRAGMA user_version = ${layout};`);
}

const Line = Compile(Type.Object({ line: Type.String() }));
const Marked = Compile(Type.Object({ mark: Type.Number(), line: Type.String() }));
const Log = Compile(Type.Object({ log: Type.String(), keeper: Type.String(), heardAtMs: Type.Number() }));
const Span = Compile(Type.Object({ sinceMs: Type.Number(), lastAtMs: Type.Number() }));
const File = Compile(
  Type.Object({
    log: Type.String(),
    name: Type.String(),
    readTo: Type.Number(),
    bytes: Type.Number(),
    firstAtMs: Type.Union([Type.Number(), Type.Null()]),
    foundAtMs: Type.Number(),
    listedAtMs: Type.Number(),
  }),
);

function indexIn(database: Sqlite.DatabaseSync): EventIndex {
  const all = (sql: string) => database.prepare(sql).all();
  const statements = preparedIn(database);
  return {
    logs: () =>
      all('SELECT log, keeper, heard_at_ms AS heardAtMs FROM logs ORDER BY keeper').filter((row) =>
        Log.Check(row),
      ),
    files: () =>
      all(
        'SELECT log, name, read_to AS readTo, bytes, first_at_ms AS firstAtMs, found_at_ms AS foundAtMs, listed_at_ms AS listedAtMs FROM files ORDER BY log, name',
      ).filter((row) => File.Check(row)),
    list: ({ log, keeper, heardAtMs }, files) =>
      inTransaction(database, () => {
        statements.log.run(log, keeper, heardAtMs);
        for (const { name, bytes, firstAtMs } of files)
          statements.file.run(log, name, bytes, firstAtMs, heardAtMs, heardAtMs);
        return true;
      }),
    store: ({ log, file, fromByte, readTo, isAll, lines }) =>
      inTransaction(database, () => {
        if (statements.turn.run(readTo, isAll ? 1 : 0, readTo, log, file, fromByte).changes !== 1)
          return false;
        for (const { key, atMs, sinceMs, line } of lines) statements.event.run(key, atMs, sinceMs, line);
        return true;
      }),
    *lines() {
      const rows = database.prepare('SELECT line FROM events ORDER BY key, at_ms').iterate();
      for (const row of rows) if (Line.Check(row)) yield row.line;
    },
    after: (mark, most) => statements.after.all(mark, most).filter((row) => Marked.Check(row)),
    linesOf: (key) => statements.ofRollout.all(key).flatMap((row) => (Line.Check(row) ? [row.line] : [])),
    span: () => {
      const row = all('SELECT min(since_ms) AS sinceMs, max(at_ms) AS lastAtMs FROM events')[0];
      return Span.Check(row) ? row : null;
    },
    close: () => database.close(),
  };
}

const preparedIn = (database: Sqlite.DatabaseSync) => ({
  log: database.prepare('INSERT OR REPLACE INTO logs VALUES (?, ?, ?)'),
  file: database.prepare(
    'INSERT INTO files VALUES (?, ?, 0, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET bytes = max(bytes, excluded.bytes), first_at_ms = coalesce(first_at_ms, excluded.first_at_ms), listed_at_ms = excluded.listed_at_ms',
  ),
  turn: database.prepare(
    'UPDATE files SET read_to = ?, bytes = iif(?, ?, bytes) WHERE log = ? AND name = ? AND read_to = ?',
  ),
  event: database.prepare('INSERT INTO events VALUES (?, ?, ?, ?)'),
  // Events are never removed, so their row ids only grow.
  after: database.prepare('SELECT rowid AS mark, line FROM events WHERE rowid > ? ORDER BY rowid LIMIT ?'),
  ofRollout: database.prepare('SELECT line FROM events WHERE key = ? ORDER BY at_ms'),
});

/** What returns false, or throws, has changed nothing. */
function inTransaction(database: Sqlite.DatabaseSync, change: () => boolean): boolean {
  database.exec('BEGIN IMMEDIATE');
  let isDone = false;
  try {
    isDone = change();
    return isDone;
  } finally {
    database.exec(isDone ? 'COMMIT' : 'ROLLBACK');
  }
}
