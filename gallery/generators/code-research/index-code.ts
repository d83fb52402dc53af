import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Repository } from './repositories.ts';

const chunkLines = 30;
const widestLine = 400;

/** Writes `code.db` into a folder: what `search` and `retrieve` ask. Returns how many chunks it has. */
export function writeIndex(repositories: readonly Repository[], folder: string): number {
  mkdirSync(folder, { recursive: true });
  const database = new DatabaseSync(join(folder, 'code.db'));
  database.exec(`
    PRAGMA synchronous = off;
    CREATE VIRTUAL TABLE words USING fts5(path, text, content = '', tokenize = 'unicode61');
    CREATE TABLE chunks (id INTEGER PRIMARY KEY, repository TEXT, path TEXT, from_line INTEGER, to_line INTEGER, text TEXT);
    CREATE TABLE lines (repository TEXT, path TEXT, number INTEGER, text TEXT, PRIMARY KEY (repository, path, number)) WITHOUT ROWID;
    BEGIN;
  `);
  const addWords = database.prepare('INSERT INTO words (rowid, path, text) VALUES (?, ?, ?)');
  const addChunk = database.prepare('INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?)');
  const addLine = database.prepare('INSERT INTO lines VALUES (?, ?, ?, ?)');
  let chunks = 0;
  for (const { name, files } of repositories) {
    for (const { path, lines } of files) {
      const cut = lines.map((line) => line.slice(0, widestLine));
      for (const [index, line] of cut.entries()) addLine.run(name, path, index + 1, line);
      for (let first = 0; first < cut.length; first += chunkLines) {
        const part = cut.slice(first, first + chunkLines);
        const text = part.join('\n');
        if (text.trim() === '') continue;
        chunks += 1;
        addWords.run(chunks, path.replaceAll(/[/.]/g, ' '), text);
        addChunk.run(chunks, name, path, first + 1, first + part.length, text);
      }
    }
  }
  database.exec("COMMIT; INSERT INTO words (words) VALUES ('optimize'); VACUUM");
  database.close();
  return chunks;
}
