import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { importFinqa } from './generators/finance-docs/finqa.ts';
import { writeIndex } from './generators/finance-docs/index-pages.ts';
import { galleryFolder } from './roster.ts';

/* `node gallery/import-finqa.ts FinQA/dataset FOLDER` makes a folder of environments with `finqa`, which is finance-docs on the real pages. */

const [dataset, folder] = process.argv.slice(2);
if (dataset === undefined || folder === undefined) {
  process.stderr.write('usage: node gallery/import-finqa.ts FinQA/dataset FOLDER\n');
  process.exitCode = 2;
} else {
  importInto(dataset, folder);
}

function importInto(dataset: string, folder: string): void {
  const read = (name: string) => readFileSync(join(dataset, name), 'utf8');
  const rest = ['dev.json', 'test.json'].filter((name) => existsSync(join(dataset, name)));
  const imported = importFinqa({ train: read('train.json'), rest: rest.map(read) });
  const own = join(folder, 'finqa');
  mkdirSync(own, { recursive: true });
  writeIndex(imported.pages, join(own, 'data'));
  for (const split of ['train', 'eval'] as const) {
    const lines = imported[split].map((row) => JSON.stringify({ ...row, corral: { reference: row.answer } }));
    writeFileSync(join(own, `${split}.jsonl`), `${lines.join('\n')}\n`);
  }
  copyFileSync(join(galleryFolder, 'finance-docs/prompt.md'), join(own, 'prompt.md'));
  writeFileSync(
    join(folder, 'finqa.yaml'),
    onRealPages(readFileSync(join(galleryFolder, 'finance-docs.yaml'), 'utf8')),
  );
  const left = Object.entries(imported.left).map(([why, count]) => `${count} left out: ${why}`);
  const told = [
    `${imported.pages.length} pages`,
    `${imported.train.length} rows to learn from`,
    `${imported.eval.length} to evaluate with`,
  ];
  process.stdout.write(`${[...told, ...left].join('\n')}\n`);
}

/** The same tools, limits and grader; the pages are a folder, and the rows are those beside it. Companies of FinQA are in both splits. */
function onRealPages(yaml: string): string {
  return yaml
    .replace('name: finance-docs', 'name: finqa')
    .replace(/- build: .*\n\s+inputs: .*\n/, '- source: finqa/data\n')
    .replaceAll(/(train|eval):\n\s+file: .*\n\s+sha256: .*/g, '$1: finqa/$1.jsonl')
    .replace('finance-docs/prompt.md', 'finqa/prompt.md')
    .replace('disjoint: [document, company]', 'disjoint: [document]');
}
