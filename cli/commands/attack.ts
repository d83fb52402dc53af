import type { Command } from 'commander';
import { attackEnvironment, describeAttacks } from '../attack/attack.ts';
import { NotInOrder } from '../command-error.ts';
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

type AttackOptions = ReadingOptions &
  RowOptions & {
    readonly environments: string;
    readonly atOnce: string;
    readonly tries: string;
    readonly thorough: boolean;
  };

const thoroughTries = 20;

export function addAttackCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('attack')
    .description('play attacks on an environment’s reward, and find attacks that score without the work')
    .argument('<environment>')
    .option('--environments <folder>', 'folder of environment files', usualEnvironments)
    .option('--tries <rollouts>', 'rollouts of each attack', '3')
    .option('--thorough', `${thoroughTries} rollouts of each attack`, false)
    .option('--at-once <rollouts>', 'rollouts at the same time', '8');
  withReadingOptions(withRowOptions(command)).action(async (environment: string, options: AttackOptions) => {
    const plan = {
      environment,
      environmentsDir: options.environments,
      rows: chosenRows(options),
      tries: options.thorough ? thoroughTries : countOf(options.tries),
      atOnce: countOf(options.atOnce),
    };
    const report = await onSomeFleet(options, environment, terminal, (connection) =>
      attackEnvironment(connection, plan),
    );
    show(terminal, options.json, report, (data) => describeAttacks(data, terminal.width));
    if (!report.ok) throw new NotInOrder();
  });
}
