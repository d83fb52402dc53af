import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readRepositories } from './generators/code-research/repositories.ts';
import { researchRows } from './generators/code-research/rows.ts';
import { kernelRows } from './generators/fast-kernels/rows.ts';
import { makeKernelFiles } from './fast-kernels/fetch-parser.ts';
import { financeRows } from './generators/finance-docs/rows.ts';
import { memoRows } from './generators/judged-finance/rows.ts';
import { defectRows } from './generators/ship-code/rows.ts';
import { visitRows } from './generators/icd10/rows.ts';
import { readCodes } from './generators/icd10/source.ts';
import { codesFolder, fetchCodes } from './icd10/fetch-codes.ts';
import { fetchPackages } from './ship-code/fetch-packages.ts';

/** Rows of an environment of the gallery; no document, repository or patient is in both. */
export type Rows = { readonly train: readonly object[]; readonly eval: readonly object[] };

export const galleryFolder = import.meta.dirname;

/** What makes the rows of each; `dataset` in its YAML has their digests, so that other rows are told at once. */
export const gallery = {
  'finance-docs': financeRows,
  'code-research': () => researchRows(readRepositories(join(galleryFolder, '../node_modules'))),
  icd10: () => {
    fetchCodes();
    return visitRows(readCodes(codesFolder));
  },
  'fast-kernels': () => {
    makeKernelFiles();
    return kernelRows();
  },
  'judged-finance': memoRows,
  'ship-code': () => {
    fetchPackages();
    return defectRows();
  },
} as const satisfies Readonly<Record<string, () => Rows>>;

export type GalleryName = keyof typeof gallery;

export const galleryNames = Object.keys(gallery).filter((name): name is GalleryName => name in gallery);

/** Writes `NAME/train.jsonl` and `NAME/eval.jsonl`, and tells how many rows they have. */
export function writeRows(name: GalleryName): { readonly train: number; readonly eval: number } {
  const rows = gallery[name]();
  const write = (split: keyof Rows) => {
    const lines = rows[split].map((row) => `${JSON.stringify(row)}\n`);
    writeFileSync(join(galleryFolder, name, `${split}.jsonl`), lines.join(''));
    return lines.length;
  };
  return { train: write('train'), eval: write('eval') };
}
