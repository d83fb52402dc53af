import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Page } from './page.ts';

/** Writes `pages.db` into a folder: what `search`, `list` and `cat` ask. The pages' words are indexed, and kept once. */
export function writeIndex(pages: readonly Page[], folder: string): void {
  mkdirSync(folder, { recursive: true });
  const database = new DatabaseSync(join(folder, 'pages.db'));
  database.exec(`
    PRAGMA synchronous = off;
    CREATE VIRTUAL TABLE pages USING fts5(path, text, cells, content = '', tokenize = 'porter unicode61');
    CREATE TABLE documents (id INTEGER PRIMARY KEY, path TEXT UNIQUE, content TEXT);
    CREATE TABLE folders (folder TEXT, name TEXT, PRIMARY KEY (folder, name)) WITHOUT ROWID;
    BEGIN;
  `);
  const addPage = database.prepare('INSERT INTO pages (rowid, path, text, cells) VALUES (?, ?, ?, ?)');
  const addDocument = database.prepare('INSERT INTO documents VALUES (?, ?, ?)');
  const addName = database.prepare('INSERT OR IGNORE INTO folders VALUES (?, ?)');
  for (const [index, page] of pages.entries()) {
    const { filename, pre_text, post_text, table } = page;
    const cells = table.map((row) => row.join(' ')).join('\n');
    addPage.run(index + 1, filename, [...pre_text, ...post_text].join('\n'), cells);
    addDocument.run(index + 1, filename, contentOf(page));
    const names = filename.split('/');
    for (const [depth, name] of names.entries()) addName.run(names.slice(0, depth).join('/'), name);
  }
  database.exec("COMMIT; INSERT INTO pages (pages) VALUES ('optimize'); VACUUM");
  database.close();
}

/** As a tool shows it: the fields of a FinQA row, its table as lines with bars. */
function contentOf({ filename, pre_text, post_text, table }: Page): string {
  const lines = table.map((row) => `| ${row.join(' | ')} |`);
  return [`path: ${filename}`, '', ...pre_text, '', ...lines, '', ...post_text].join('\n');
}
