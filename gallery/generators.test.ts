import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadEnvironments } from '#src/environments/load-environments.ts';
import { mine } from './generators/code-research/miners.ts';
import { importFinqa } from './generators/finance-docs/finqa.ts';
import { makeLibrary, seed } from './generators/finance-docs/library.ts';
import { readTabular } from './generators/icd10/tabular.ts';
import { galleryFolder, type GalleryName, galleryNames, type Rows, writeRows } from './roster.ts';

let root = '';
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'corral-'));
  for (const name of galleryNames) writeRows(name);
});
afterAll(() => rmSync(root, { recursive: true }));

test('every environment loads with the rows that are made: their digests are those that its file promises', async () => {
  const catalog = await loadEnvironments(galleryFolder);
  expect(
    catalog
      .all()
      .map(({ name }) => name as string)
      .sort(),
  ).toEqual([...galleryNames].sort());
});

const apart = {
  'finance-docs': 'company',
  'code-research': 'repository',
  icd10: 'patient',
  'fast-kernels': 'operation',
  'judged-finance': 'company',
  'ship-code': 'package',
} as const;

const writtenRows = (name: GalleryName, split: keyof Rows) =>
  readFileSync(join(galleryFolder, name, `${split}.jsonl`), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);

test.each(galleryNames)('no row of %s to learn from shares its origin with one to evaluate with', (name) => {
  const [train, kept] = [writtenRows(name, 'train'), writtenRows(name, 'eval')];
  const origins = (rows: typeof train) => new Set(rows.map((row) => row[apart[name]]));
  expect(origins(train).intersection(origins(kept)).size).toBe(0);
  // Real defects are few.
  const [leastKept, leastTrain] = name === 'ship-code' ? [8, 11] : [100, 700];
  expect(kept.length).toBeGreaterThan(leastKept);
  expect(train.length).toBeGreaterThan(leastTrain);
});

test('2,800 pages have 2,800 paths, and a page’s own report and a later one may differ: a quarter restates', () => {
  const { pages, rows } = makeLibrary(seed);
  expect(new Set(pages.map(({ filename }) => filename)).size).toBe(2800);
  const restating = pages.filter(({ post_text }) => post_text.some((line) => line.includes('restated')));
  expect(restating.length / pages.length).toBeCloseTo(0.25, 1);
  expect(rows.every(({ document }) => pages.some(({ filename }) => filename === document))).toBe(true);
});

const entry = (filename: string, question: string, answer: string, exe_ans: unknown) => ({
  id: `${filename}-1`,
  filename,
  pre_text: ['debt .'],
  post_text: [],
  table: [
    ['', '2016', '2015'],
    ['total debt', '$ 10', '$ 8'],
  ],
  qa: { question, answer, exe_ans, program: 'divide(2, 8)' },
});

const train = [
  entry('ETR/2016/page_23.pdf', 'growth ?', '25%', 0.25),
  entry('ETR/2016/page_24.pdf', 'more ?', '', 'yes'),
];
const rest = [
  entry('ETR/2016/page_23.pdf', 'again ?', '25%', 0.25),
  entry('AAL/2014/page_9.pdf', 'debt ?', '', 10),
];

test('the real FinQA is read: an empty answer is what its program gives, yes and no are left out, and no page is in both splits', () => {
  const imported = importFinqa({ train: JSON.stringify(train), rest: [JSON.stringify(rest)] });
  expect(imported.pages).toHaveLength(3);
  expect(imported.train).toMatchObject([{ document: 'ETR/2016/page_23.pdf', company: 'ETR', answer: '25%' }]);
  expect(imported.eval).toMatchObject([{ document: 'AAL/2014/page_9.pdf', answer: '10' }]);
  expect(imported.left).toEqual({ 'no number': 1, 'page of train': 1 });
  expect(() => importFinqa({ train: '[{"id": "x"}]', rest: [] })).toThrow('not a file of FinQA/dataset');
});

test('an imported FinQA is an environment that loads', async () => {
  const dataset = join(root, 'dataset');
  mkdirSync(dataset);
  writeFileSync(join(dataset, 'train.json'), JSON.stringify(train));
  writeFileSync(join(dataset, 'dev.json'), JSON.stringify(rest));
  const args = [join(galleryFolder, 'import-finqa.ts'), dataset, join(root, 'out')];
  expect(spawnSync(process.execPath, args, { encoding: 'utf8' }).stdout).toContain('3 pages');
  const [environment] = (await loadEnvironments(join(root, 'out'))).all();
  expect(environment).toMatchObject({ name: 'finqa', dataset: { disjoint: ['document'] } });
});

test('a seventh character makes codes of a leaf, as far as the list of all codes confirms them', () => {
  const xml = `<x><chapter><name>19</name><desc>Injury</desc><section id="T15-T15"><desc>Eye</desc>
    <diag><name>T15</name><desc>Foreign body &amp; eye</desc><sevenChrDef><extension char="A">initial encounter</extension>
    <extension char="D">subsequent encounter</extension></sevenChrDef>
    <diag><name>T15.0</name><desc>in cornea</desc><inclusionTerm><note>speck</note></inclusionTerm></diag></diag></section></chapter></x>`;
  const codes = readTabular(xml, new Set(['T150XXA'])).map(({ code, title, encounter }) => [
    code,
    title,
    encounter,
  ]);
  expect(codes).toEqual([
    ['19', 'Injury', null],
    ['T15-T15', 'Eye', null],
    ['T15', 'Foreign body & eye', null],
    ['T15.0', 'in cornea', null],
    ['T15.0XXA', 'in cornea, initial encounter', 'initial encounter'],
  ]);
});

const file = (path: string, text: string) => ({ path, lines: text.split('\n') });

test('what stands in a comment is required by nobody, and what is exported in ways that are not written out is not asked for', () => {
  const files = [
    file('lib/a.js', 'module.exports = {\n  one,\n  two\n}'),
    file('lib/b.js', "const a = require('./a')\n// require('./c')\nmodule.exports.x = 1"),
    file('lib/c.js', "const a = require('./a.js')\nexport * from './a'"),
  ];
  const mined = mine({ name: 'some', files });
  expect(mined.filter(({ kind }) => kind === 'importers').map(({ facts }) => facts)).toEqual([
    ['lib/b.js', 'lib/c.js'],
  ]);
  expect(mined.filter(({ kind }) => kind === 'exports').map(({ facts }) => facts)).toEqual([['one', 'two']]);
});

test('a class’ methods are those that its types let anybody call, and a nested bracket ends no class', () => {
  const types = `export declare class Store<T extends { a: string }> extends Base {
    private secret;
    protected inner(): void;
    constructor(options?: {
        path: string;
    });
    get size(): number;
    static open(path: string): Store;
    read<K extends keyof T>(key: K, options?: {
        raw(text: string): string;
    }): T[K];
    close?(): void;
    write(key: string): void;
    write(key: string, value: string): void;
}
declare class Other {
    only(): void;
}`;
  const mined = mine({ name: 'some', files: [file('types/store.d.ts', types)] });
  expect(mined.filter(({ kind }) => kind === 'methods')).toMatchObject([
    { question: expect.stringContaining('`Store`'), facts: ['open', 'read', 'close', 'write'] },
  ]);
});
