import { existsSync } from 'node:fs';
import { type Command, Option } from 'commander';
import { type Split, splits } from '#src/model/dataset.ts';
import { CommandError } from '../command-error.ts';
import { programs } from '../fleet/programs.ts';
import { defaultStateFolder } from '../fleet/state-folder.ts';
import { readRows, type RowChoice } from '../proving/rows.ts';
import { docsPage } from '#src/platform/docs.ts';

const folderName = 'environments';

/** `environments` in the working directory. If it does not exist, an installed release uses its own example. */
export const usualEnvironments: string =
  existsSync(folderName) || programs.examples === null ? folderName : programs.examples;

export type ReadingOptions = {
  readonly url?: string;
  readonly key?: string;
  readonly run?: string;
  readonly state: string;
  readonly json: boolean;
};

/** Of `--events`: where lines go to standard output, a log collector has them. */
export const storeHelp =
  'read them from this trajectory store: a folder or s3://bucket/prefix (default: CORRAL_TRAJECTORIES, if set)';
export const tenantHelp = 'tenant of the run, if several tenants have a run of this name';
export const eventsHelp =
  'event lines of a file, or - for standard input, instead of the fleet’s own logs; other lines are ignored';

/** What every command that asks a fleet may be told. */
export function withReadingOptions(command: Command): Command {
  return command
    .option('--url <url>', 'the gateway (default: CORRAL_URL, else the fleet on this machine)')
    .option('--key <key>', 'the API key (default: CORRAL_KEY, else the development key of this machine)')
    .option('--state <folder>', 'state folder of a fleet on this machine', defaultStateFolder)
    .option('--json', 'print data instead of text', false);
}

export type RowOptions = { readonly items?: string; readonly split?: Split; readonly rows?: string };

/** What every command that plays on rows may be told of them. */
export function withRowOptions(command: Command): Command {
  return command
    .option(
      '--items <file>',
      `dataset rows, JSONL (default: the environment’s own, see ${docsPage('proving.md')})`,
    )
    .addOption(
      new Option('--split <split>', 'rows of the environment’s dataset (default: eval)').choices(splits),
    )
    .option('--rows <count>', 'maximum rows, spread evenly over the file');
}

export function chosenRows({ items, split, rows }: RowOptions): RowChoice {
  if (items !== undefined && split !== undefined) {
    const next = 'leave one of the two out';
    throw new CommandError('--items and --split name two sets of rows', 'yours', next);
  }
  return {
    given: items === undefined ? null : readRows(items),
    split: split ?? null,
    most: rows === undefined ? null : countOf(rows),
  };
}

/** A whole number from 1, as an option gives it. */
export function countOf(text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1) return count;
  throw new CommandError(`not a count: ${text}`, 'yours', 'give a whole number from 1');
}
