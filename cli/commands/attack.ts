import { type Command, Option } from 'commander';
import { attackEnvironment, describeAttacks } from '../attack/attack.ts';
import { boundFrom, describeGate, judgeGate } from '../attack/gate.ts';
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
    readonly gate?: string;
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
    .addOption(
      new Option(
        '--gate [bound]',
        'for a training job: exit 1 if an attack scores above this bound, or the reference does not (default: 0.05)',
      ).preset('0.05'),
    )
    .option('--at-once <rollouts>', 'rollouts at the same time', '8');
  withReadingOptions(withRowOptions(command)).action(async (environment: string, options: AttackOptions) => {
    const plan = {
      environment,
      environmentsDir: options.environments,
      rows: chosenRows(options),
      tries: options.thorough ? thoroughTries : countOf(options.tries),
      atOnce: countOf(options.atOnce),
    };
    const bound = options.gate === undefined ? null : boundFrom(options.gate);
    const report = await onSomeFleet(options, environment, terminal, (connection) =>
      attackEnvironment(connection, plan),
    );
    const gate = bound === null ? null : judgeGate(report, bound);
    show(terminal, options.json, gate === null ? report : { ...report, gate }, () => {
      const attacks = describeAttacks(report, terminal.width);
      return gate === null ? attacks : `${attacks}\n\n${describeGate(gate)}`;
    });
    if (!(gate?.open ?? report.ok)) throw new NotInOrder();
  });
}
