import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { loadEnvironments } from '#src/environments/load-environments.ts';
import type { Dataset, Split } from '#src/model/dataset.ts';
import type { Environment } from '#src/model/environment.ts';
import { reservedField, graderLeaves } from '#src/model/grader-leaves.ts';
import type { Item, Json } from '#src/model/grader.ts';
import { CommandError } from '../command-error.ts';
import { sampleItem } from './made-up.ts';

/** One dataset row, with answers to try on its grader where the file gives them. */
export type Row = {
  readonly item: Item;
  /** What deserves the full score: an answer, or whatever the reference policy makes it from. */
  readonly reference: Json | undefined;
  /** What deserves nothing: what a policy might try instead of the work. */
  readonly cheating: Json | undefined;
};

/**
 * Rows from JSONL: one item a line. The key `corral: {reference, cheating}` is ours and is not part of the item; all other
 * fields are the row's own, whatever their names. Throws a CommandError that names every bad line.
 */
export function parseRows(text: string, file: string): readonly Row[] {
  const lines = text.split('\n').map((line, index) => ({ line, number: index + 1 }));
  const parsed = lines
    .filter(({ line }) => line.trim() !== '')
    .map(({ line, number }) => parseRow(line, number));
  const mistakes = parsed.filter((row) => typeof row === 'string');
  if (mistakes.length > 0 || parsed.length === 0) {
    const said = parsed.length === 0 ? 'no row' : mistakes.join('; ');
    throw new CommandError(`${file}: ${said}`, 'yours', 'one JSON object a line');
  }
  return parsed.filter((row) => typeof row !== 'string');
}

function parseRow(line: string, number: number): Row | string {
  let value: Json;
  try {
    value = JSON.parse(line) as Json;
  } catch (error) {
    return `line ${number}: ${error instanceof Error ? error.message : 'not JSON'}`;
  }
  if (!isObject(value)) return `line ${number}: not an object`;
  const { [reservedField]: ours = {}, ...item } = value;
  if (!isObject(ours)) return `line ${number}: ${reservedField} must be {reference, cheating}`;
  const { reference, cheating, ...unknown } = ours;
  const [name] = Object.keys(unknown);
  if (name !== undefined)
    return `line ${number}: ${reservedField}.${name} is unknown: there are reference and cheating`;
  return { item, reference, cheating };
}

const isObject = (value: Json): value is Readonly<Record<string, Json>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Which rows are played: a file's, or the environment's own of one split; of many, some. */
export type RowChoice = {
  /** Rows of a file given by the user; null: the environment's own. */
  readonly given: readonly Row[] | null;
  /** Of a `dataset`; null: `eval` where there is one. */
  readonly split: Split | null;
  /** At most so many, spread evenly over the file; null: all. */
  readonly most: number | null;
};

/** A preflight asks whether things work, which no row after the eighth tells. */
const mostOfPreflight = 8;

/**
 * Rows to try an environment with: its own; without any, a row made up from what it exposes and grades. A gateway
 * elsewhere, whose files are not at hand, gets a row with an id only.
 */
export async function rowsOf(
  environment: string,
  folder: string,
  choice: RowChoice,
): Promise<readonly Row[]> {
  const found = await environmentIn(folder, environment);
  const most = choice.most ?? (choice.given === null && found?.dataset ? mostOfPreflight : null);
  const real = realRowsOf(environment, found, folder, { ...choice, most });
  if (real !== null) return real;
  const item = found === undefined ? { id: 'corral-preflight' } : sampleItem(found);
  return [{ item, reference: undefined, cheating: undefined }];
}

/**
 * The rows of an environment's `dataset`, else the rows of `NAME.items.jsonl` next to its file; null if neither exists. `known` is
 * undefined if the environment's file is not at hand.
 */
export function realRowsOf(
  environment: string,
  known: Pick<Environment, 'dataset'> | undefined,
  folder: string,
  { given, split, most }: RowChoice,
): readonly Row[] | null {
  if (given !== null) return spread(given, most);
  const dataset = known?.dataset;
  if (dataset !== undefined)
    return spread(splitRows(dataset, split ?? (dataset.eval ? 'eval' : 'train'), folder), most);
  if (split !== null) {
    throw new CommandError(
      `${environment} names no dataset, so it has no ${split} rows`,
      'yours',
      `write dataset: {${split}: FILE} into its YAML, or leave --split out`,
    );
  }
  const file = join(folder, `${environment}.items.jsonl`);
  return existsSync(file) ? spread(parseRows(readFileSync(file, 'utf8'), file), most) : null;
}

/** The rows of one split, as the environment's file names them. */
export function splitRows(dataset: Dataset, split: Split, folder: string): readonly Row[] {
  const rows = dataset[split];
  if (rows !== undefined) return readRows(resolve(folder, rows.file));
  throw new CommandError(
    `the dataset has no ${split} rows`,
    'yours',
    `name a file: dataset: {${split}: FILE}`,
  );
}

function spread(rows: readonly Row[], most: number | null): readonly Row[] {
  if (most === null || rows.length <= most) return rows;
  return Array.from({ length: most }, (_, index) => rows[Math.floor((index * rows.length) / most)]).flatMap(
    (row) => row ?? [],
  );
}

/** Rows of a file given by the user. */
export function readRows(file: string): readonly Row[] {
  try {
    return parseRows(readFileSync(file, 'utf8'), file);
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw new CommandError(`cannot read ${file}: ${String(error)}`, 'yours', 'give a JSONL file', error);
  }
}

/** The answers of which its judges are asked where they refuse another: each must have a score. */
export async function harmlessAnswersOf(environment: string, folder: string): Promise<readonly string[]> {
  const found = await environmentIn(folder, environment);
  const leaves = found === undefined ? [] : graderLeaves(found.grader);
  return [...new Set(leaves.flatMap((leaf) => (leaf.kind === 'http' ? leaf.control : [])))];
}

/** The environment of that name in `folder`. Throws if it does not exist, which is the caller's mistake. */
export async function mustBeIn(folder: string, name: string): Promise<Environment> {
  const all = (await loadEnvironments(folder)).all();
  const found = all.find((one) => one.name === name);
  if (found !== undefined) return found;
  const there = all.map((one) => one.name).join(', ');
  throw new CommandError(`there is no environment ${name} in ${folder}`, 'yours', `there is: ${there}`);
}

/** Where its file is at hand. */
export async function environmentIn(folder: string, environment: string): Promise<Environment | undefined> {
  const catalog = await loadEnvironments(folder).catch(() => null);
  return catalog?.all().find(({ name }) => name === environment);
}
