import type { Command } from 'commander';
import { attackEnvironment } from '../attack/attack.ts';
import { describeAttacks } from '../attack/report.ts';
import { NotInOrder } from '../command-error.ts';
import { show, type Terminal } from '../print/terminal.ts';
import { readRows } from '../proving/rows-of.ts';
import { onSomeFleet } from '../proving/some-fleet.ts';
import { countOf } from './ladder.ts';
import { type ReadingOptions, withReadingOptions } from './reading-options.ts';

type AttackOptions = ReadingOptions & {
  readonly items?: string;
  readonly environments: string;
  readonly atOnce: string;
  readonly tries: string;
  readonly thorough: boolean;
};

const thoroughTries = 20;

export function addAttackCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('attack')
    .description('play attacks on an environment’s reward, and see which are paid without the work')
    .argument('<environment>')
    .option('--items <file>', 'dataset rows, JSONL (default: NAME.items.jsonl beside the environment)')
    .option('--environments <folder>', 'folder of environment files', 'environments')
    .option('--tries <rollouts>', 'rollouts of each attack', '3')
    .option('--thorough', `${thoroughTries} rollouts of each attack`, false)
    .option('--at-once <rollouts>', 'rollouts at the same time', '8');
  withReadingOptions(command).action(async (environment: string, options: AttackOptions) => {
    const plan = {
      environment,
      environmentsDir: options.environments,
      rows: options.items === undefined ? null : readRows(options.items),
      tries: options.thorough ? thoroughTries : countOf(options.tries),
      atOnce: countOf(options.atOnce),
    };
    const report = await onSomeFleet(options, terminal, (connection) => attackEnvironment(connection, plan));
    show(terminal, options.json, report, (data) => describeAttacks(data, terminal.width));
    if (!report.ok) throw new NotInOrder();
  });
}
