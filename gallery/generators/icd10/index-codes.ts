import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { isBillable, isCode } from './source.ts';
import type { Entry } from './tabular.ts';

/** Writes `codes.db` into a folder: what `search` and `lookup` ask. Returns how many entries it has. */
export function writeIndex(entries: readonly Entry[], folder: string): number {
  mkdirSync(folder, { recursive: true });
  const database = new DatabaseSync(join(folder, 'codes.db'));
  database.exec(`
    PRAGMA synchronous = off;
    CREATE VIRTUAL TABLE words USING fts5(title, terms, above, content = '', tokenize = 'porter unicode61');
    CREATE TABLE codes (id INTEGER PRIMARY KEY, code TEXT, bare TEXT UNIQUE, title TEXT, billable TEXT, about TEXT);
    BEGIN;
  `);
  const addWords = database.prepare('INSERT INTO words (rowid, title, terms, above) VALUES (?, ?, ?, ?)');
  const addCode = database.prepare('INSERT OR IGNORE INTO codes VALUES (?, ?, ?, ?, ?, ?)');
  // A section of one category has its name; the category is the one that is meant.
  const codes = entries.filter((entry) => isCode(entry) && entry.title !== '');
  for (const [index, entry] of codes.entries()) {
    const terms = [entry, entry.encounter === null ? null : entry.parent].flatMap(
      (each) => each?.terms ?? [],
    );
    const billable = isBillable(entry) ? 'billable' : 'not billable';
    addWords.run(index + 1, entry.title, terms.join('\n'), above(entry).join('\n'));
    addCode.run(index + 1, entry.code, entry.code.replace('.', ''), entry.title, billable, aboutOf(entry));
  }
  database.exec("COMMIT; INSERT INTO words (words) VALUES ('optimize'); VACUUM");
  database.close();
  return codes.length;
}

const above = ({ parent }: Entry): readonly string[] =>
  parent === null ? [] : [parent.title, ...above(parent)].filter((title) => title !== '');

const mostChildren = 40;

/** What a coder reads who looks a code up: words that mean it, what stands above and below, and its notes. */
function aboutOf({ terms, notes, parent, children }: Entry): string {
  const below = children.slice(0, mostChildren).map(({ code, title }) => `  ${code} ${title}`);
  const left = children.length - below.length;
  return [
    ...terms.map((term) => `means too: ${term}`),
    ...notes,
    ...(parent === null || !isCode(parent) ? [] : [`above: ${parent.code} ${parent.title}`]),
    ...(below.length === 0 ? [] : ['below:', ...below]),
    ...(left > 0 ? [`  and ${left} more`] : []),
  ].join('\n');
}
