import { readFileSync } from 'node:fs';
import { join, matchesGlob } from 'node:path';

export const differencesPage = join(import.meta.dirname, '../../docs/differences.md');

/** What the page lists: `PROBE FACE USER`, where `*` stands for any text. Each is code in the first cell of a row. */
export function readDifferences(page = readFileSync(differencesPage, 'utf8')): readonly string[] {
  const cells = page
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.split('|')[1] ?? '');
  return cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, pattern = '']) => pattern));
}

/** A play's name has no slash, so that a star stands for any part of it. */
export const isAbout = (pattern: string, play: string): boolean => matchesGlob(play, pattern);
