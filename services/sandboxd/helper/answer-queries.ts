import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { DatabaseSync, type SQLOutputValue, type StatementSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { brokenDatabaseExit, type QueryAction } from '#src/protocol/sandboxd/wire.ts';
import { frame } from '../grading/frames.ts';
import { allWords, anyWord, phrase } from './query-words.ts';

/**
 * Answers queries of databases, one a line on stdin, until stdin ends. Each answer is frames of its text, and at the end
 * `[id, exit code]`. What the model's values make of the SQL is said to it as `Error: …`.
 *
 * Databases are opened once, read-only and as unchangeable: nothing beside them is looked for, nothing is locked, and
 * their pages are mapped and not copied, so that all sandboxes of a machine share the one copy in its page cache.
 */
export async function answerQueries(): Promise<0> {
  await say(frame('ended', Buffer.from('[0,0]')));
  for await (const line of linesOf(process.stdin.setEncoding('utf8'))) {
    const { id, ...action } = JSON.parse(line) as QueryAction & { readonly id: number };
    const exitCode = await answer(action);
    await say(frame('ended', Buffer.from(JSON.stringify([id, exitCode]))));
  }
  return 0;
}

async function* linesOf(chunks: AsyncIterable<unknown>): AsyncGenerator<string> {
  let held = '';
  for await (const chunk of chunks) {
    const lines = `${held}${String(chunk)}`.split('\n');
    held = lines.pop() ?? '';
    yield* lines;
  }
}

/** What is beyond it is cut by sandboxd to what the environment allows, which is less. */
const longestAnswer = 1024 * 1024;
const pieceBytes = 32 * 1024;

async function answer(action: QueryAction): Promise<number> {
  let statement: StatementSync | null = null;
  try {
    statement = statementOf(action);
    if (action.check !== true) await sayText('stdout', textOf(statement, action));
    return 0;
  } catch (error) {
    await sayText('stderr', `Error: ${error instanceof Error ? error.message : String(error)}\n`);
    const isNew = action.check !== true && isBroken(error, action.database, statement !== null);
    return isNew ? brokenDatabaseExit : 1;
  }
}

/** Codes of SQLite: what was read is no database, or not the one that it says it is. The low byte is the kind of an error. */
const corrupt = new Set([11, 26]);
/** Of an error of reading, whose other kinds a sandbox without memory has too: cut short, and not to be read from its disk. */
const unreadable = new Set([10 | (2 << 8), 10 | (33 << 8)]);
const noSuchThing = 1;
const cannotOpen = 14;
/** A file that is there cannot be opened where there is no memory for it. */
const notThere = new Set(['ENOENT', 'ENOTDIR', 'EACCES', 'EIO', 'ESTALE']);

/** The text of a query is the author's and was looked at before anything ran: what it cannot be made of later has changed since. */
function isBroken(error: unknown, database: string, isMade: boolean): boolean {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return false;
  if (corrupt.has(error.errcode & 0xff) || unreadable.has(error.errcode)) return true;
  if (!isMade && error.errcode === noSuchThing) return true;
  return (error.errcode & 0xff) === cannotOpen && !isThere(database);
}

function isThere(path: string): boolean {
  try {
    closeSync(openSync(path, 'r'));
    return true;
  } catch (error) {
    return !(error instanceof Error && 'code' in error && notThere.has(String(error.code)));
  }
}

const databases = new Map<string, DatabaseSync>();

/** Anew for each: a statement that has failed would tell the next one's call of it, and making one takes some microseconds. */
function statementOf({ database, sql, each = [] }: QueryAction): StatementSync {
  const statement = databaseAt(database).prepare(sql);
  statement.setAllowUnknownNamedParameters(true);
  const columns = statement.columns().map(({ name }) => name);
  const unknown = each.find((name, index) => index % 2 === 1 && !columns.includes(name));
  if (unknown !== undefined)
    throw new Error(`the query has no column ${unknown}; it has: ${columns.join(', ')}`);
  return statement;
}

/** No page of a corpus is as long; a value that a query makes is held twice or three times in a small sandbox. */
const longestValue = 16 * 1024 * 1024;

/** A map of all of it takes no memory; the cache of copies is for what cannot be mapped. */
const settings = `
  PRAGMA mmap_size = 17179869184;
  PRAGMA cache_size = -512;
  PRAGMA temp_store = MEMORY;
  PRAGMA query_only = ON;
`;

function databaseAt(path: string): DatabaseSync {
  const known = databases.get(path);
  if (known !== undefined) return known;
  const url = pathToFileURL(path);
  url.search = '?immutable=1';
  const database = new DatabaseSync(url, { readOnly: true, limits: { length: longestValue } });
  database.exec(settings);
  const words = { any_word: anyWord, all_words: allWords, phrase };
  for (const [name, make] of Object.entries(words)) {
    database.function(name, { deterministic: true }, (text) => make(text === null ? '' : String(text)));
  }
  databases.set(path, database);
  return database;
}

function textOf(statement: StatementSync, { values, each, none }: QueryAction): string {
  const pieces: string[] = [];
  let length = 0;
  for (const row of statement.iterate(values)) {
    const text = each === undefined ? JSON.stringify(row) : filled(each, row);
    pieces.push(text);
    length += text.length;
    if (length > longestAnswer) break;
  }
  return pieces.length === 0 ? `${none}\n` : `${pieces.join('\n')}\n`;
}

const filled = (each: readonly string[], row: Readonly<Record<string, SQLOutputValue>>): string =>
  each.map((part, index) => (index % 2 === 0 ? part : wordOf(row[part]))).join('');

function wordOf(value: SQLOutputValue | undefined): string {
  if (value === null || value === undefined) return '';
  return value instanceof Uint8Array ? `[${value.length} bytes]` : String(value);
}

async function sayText(kind: 'stdout' | 'stderr', text: string): Promise<void> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += pieceBytes)
    await say(frame(kind, bytes.subarray(at, at + pieceBytes)));
}

async function say(bytes: Buffer): Promise<void> {
  if (!process.stdout.write(bytes)) await once(process.stdout, 'drain');
}
