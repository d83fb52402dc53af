import type { Command } from 'commander';
import { NotInOrder } from '../command-error.ts';
import { describeLadder, ladder } from '../ladder/ladder.ts';
import { show, type Terminal } from '../print/terminal.ts';
import { onSomeFleet } from '../proving/some-fleet.ts';
import {
  chosenRows,
  countOf,
  type ReadingOptions,
  type RowOptions,
  withReadingOptions,
  withRowOptions,
  usualEnvironments,
} from './options.ts';
import { docsPage } from '#src/platform/docs.ts';

type LadderOptions = ReadingOptions &
  RowOptions & {
    readonly environments: string;
    readonly atOnce: string;
  };

export function addLadderCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('ladder')
    .description('play an environment’s policies without a model, and check that its rewards rank them')
    .argument('<environment>')
    .option('--environments <folder>', 'folder of environment files', usualEnvironments)
    .option('--at-once <rollouts>', 'rollouts at the same time', '8')
    .addHelpText(
      'after',
      `\nPolicies are in NAME/policies.yaml next to the environment; ${docsPage('proving.md')} describes how to write them.`,
    );
  withReadingOptions(withRowOptions(command)).action(async (environment: string, options: LadderOptions) => {
    const plan = {
      environment,
      environmentsDir: options.environments,
      rows: chosenRows(options),
      atOnce: countOf(options.atOnce),
    };
    const report = await onSomeFleet(options, environment, terminal, (connection) =>
      ladder(connection, plan),
    );
    show(terminal, options.json, report, (data) => describeLadder(data, terminal.width));
    if (!report.ok) throw new NotInOrder();
  });
}
