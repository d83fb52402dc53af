import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Entry, readTabular } from './tabular.ts';

/** ICD-10-CM of April 2026 as the PyPI package simple-icd-10-cm 1.5.0 brings it: its tabular list, and the list of all codes. */
export const sourceFiles = ['icd10c-tabular-April-1-2026.xml', 'code-list-April-2026.txt'] as const;

/** Chapters, sections, categories and codes. */
export function readCodes(folder: string): readonly Entry[] {
  const [tabular, list] = sourceFiles.map((file) => readFileSync(join(folder, file), 'utf8'));
  const confirmed = new Set(list?.split('\n').map((line) => line.trim()));
  return readTabular(tabular ?? '', confirmed);
}

export const isBillable = ({ children }: Entry): boolean => children.length === 0;

/** Categories and codes have a letter and a figure in front, and no range. */
export const isCode = ({ code }: Entry): boolean => /^[A-Z]\d/.test(code) && !code.includes('-');
