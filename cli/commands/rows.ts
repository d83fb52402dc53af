import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { type Dataset, type Split, splits } from '#src/model/dataset.ts';
import type { Environment } from '#src/model/environment.ts';
import { CommandError } from '../command-error.ts';
import type { Terminal } from '../print/terminal.ts';
import { mustBeIn, splitRows } from '../proving/rows.ts';
import { describeOverlap, type Overlap, overlapOf } from '../rows/overlap.ts';
import { checkRows, takenBy, type Trainer, trainers, type Written, writtenFor } from '../rows/trainers.ts';
import { usualEnvironments } from './options.ts';
import { docsPage } from '#src/platform/docs.ts';

type RowsOptions = {
  readonly split: Split;
  readonly for: Trainer;
  readonly out?: string;
  readonly environments: string;
};

export function addRowsCommand(program: Command, terminal: Terminal): void {
  program
    .command('rows')
    .description('write an environment’s rows and prompt in a trainer’s format')
    .argument('<environment>')
    .addOption(new Option('--split <split>', 'which rows').choices(splits).default('train'))
    .addOption(new Option('--for <trainer>', 'the trainer’s format').choices(trainers).makeOptionMandatory())
    .option('--out <path>', 'a file, or for harbor a folder (default: standard output)')
    .option('--environments <folder>', 'folder of environment files', usualEnvironments)
    .addHelpText(
      'after',
      `\nNeeds no fleet. ${docsPage('proving.md')} describes the formats, and what no model reads.`,
    )
    .action(async (name: string, { split, for: trainer, out, environments }: RowsOptions) => {
      const environment = await datasetIn(environments, name);
      const { dataset } = environment;
      const rows = splitRows(dataset, split, environments);
      checkRows(rows, environment, dataset[split]?.file ?? split, takenBy[trainer]);
      for (const shared of sharedBy(dataset, environments)) terminal.remark(describeOverlap(shared));
      const written = writtenFor(trainer, rows, environment);
      const where = put(written, trainer, out, terminal);
      const version = `${name}@${environment.version.slice(0, 8)}`;
      terminal.remark(
        `${rows.length} rows of ${split} of ${version}${where}; sha256 of the file: ${dataset[split]?.sha256}`,
      );
    });
}

async function datasetIn(folder: string, name: string): Promise<Environment & { readonly dataset: Dataset }> {
  const found = await mustBeIn(folder, name);
  const { dataset } = found;
  if (dataset !== undefined) return { ...found, dataset };
  throw new CommandError(
    `${name} names no dataset`,
    'yours',
    `write one into its YAML; see ${docsPage('proving.md')}`,
  );
}

/** Only where both splits are named and at hand can they be compared. */
function sharedBy(dataset: Dataset, folder: string): readonly Overlap[] {
  const here = splits.every((split) => dataset[split] && existsSync(resolve(folder, dataset[split].file)));
  if (!here) return [];
  const items = (split: Split) => splitRows(dataset, split, folder).map(({ item }) => item);
  return overlapOf(items('train'), items('eval'), dataset);
}

/** Never into a folder with something in it: tasks half of one dataset and half of another are neither. */
function put(written: Written, trainer: Trainer, out: string | undefined, terminal: Terminal): string {
  if (out === undefined) {
    if (trainer === 'harbor')
      throw new CommandError('harbor takes a folder for each row', 'yours', 'name a folder with --out');
    terminal.result((written[''] ?? '').trimEnd());
    return '';
  }
  const isFull = existsSync(out) && statSync(out).isDirectory() && readdirSync(out).length > 0;
  if (isFull || (existsSync(out) && trainer !== 'harbor' && statSync(out).isDirectory()))
    throw new CommandError(`${out} is a folder with something in it`, 'yours', 'name another with --out');
  for (const [path, text] of Object.entries(written)) {
    const file = path === '' ? out : join(out, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  return `, in ${out}`;
}
