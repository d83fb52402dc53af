import type { Command } from 'commander';
import { CommandError, NotInOrder } from '../command-error.ts';
import { ladder } from '../ladder/ladder.ts';
import { describeLadder } from '../ladder/report.ts';
import { show, type Terminal } from '../print/terminal.ts';
import { readRows } from '../proving/rows-of.ts';
import { onSomeFleet } from '../proving/some-fleet.ts';
import { type ReadingOptions, withReadingOptions } from './reading-options.ts';

type LadderOptions = ReadingOptions & {
  readonly items?: string;
  readonly environments: string;
  readonly atOnce: string;
};

export function addLadderCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('ladder')
    .description(
      'play an environment’s policies without a model, and see whether its rewards put them in order',
    )
    .argument('<environment>')
    .option('--items <file>', 'dataset rows, JSONL (default: NAME.items.jsonl beside the environment)')
    .option('--environments <folder>', 'folder of environment files', 'environments')
    .option('--at-once <rollouts>', 'rollouts at the same time', '8')
    .addHelpText(
      'after',
      '\nPolicies are in NAME/policies.yaml beside the environment; docs/proving.md tells how to write them.',
    );
  withReadingOptions(command).action(async (environment: string, options: LadderOptions) => {
    const plan = {
      environment,
      environmentsDir: options.environments,
      rows: options.items === undefined ? null : readRows(options.items),
      atOnce: countOf(options.atOnce),
    };
    const report = await onSomeFleet(options, terminal, (connection) => ladder(connection, plan));
    show(terminal, options.json, report, (data) => describeLadder(data, terminal.width));
    if (!report.ok) throw new NotInOrder();
  });
}

/** A whole number from 1, as an option gives it. */
export function countOf(text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1) return count;
  throw new CommandError(`not a count: ${text}`, 'yours', 'give a whole number from 1');
}
