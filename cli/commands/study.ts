import type { Command } from 'commander';
import { show, type Terminal } from '../print/terminal.ts';
import { describeStudy } from '../study/describe.ts';
import { conductStudy, type StudyOptions } from '../study/conduct.ts';
import { openPage, writePage } from '../study/write-page.ts';
import { eventsHelp, withReadingOptions } from './reading-options.ts';

type Options = StudyOptions & { readonly json: boolean; readonly out?: string; readonly open: boolean };

export function addStudyCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('study')
    .description('tell, before a run is paid for, whether an environment can be learnt, and what to mend')
    .argument('<environment>')
    .option('--items <file>', 'dataset rows, JSONL (default: NAME.items.jsonl beside the environment)')
    .option('--eval <file>', 'rows kept for evaluation, to see what they share with the others')
    .option('--rows <count>', 'play on so many rows, spread over the file (default: all)')
    .option(
      '--group <field...>',
      'fields that say where a row comes from, which train and eval must not share',
    )
    .option('--environments <folder>', 'folder of environment files', 'environments')
    .option('--policy <name...>', 'policies of the ladder to play (default: those of kind naive and good)')
    .option('--copies <count>', 'rollouts of each row', '4')
    .option('--at-once <rollouts>', 'rollouts at the same time', '8')
    .option('--run <run>', 'study a recorded run instead of playing')
    .option('--events <file>', eventsHelp)
    .option('--against <name>', 'another run or policy, to compare item by item')
    .option('--step-rollouts <count>', 'assume so many rollouts in a training step', '512')
    .option('--group-size <count>', 'assume so many copies of each item in a step', '8')
    .option('--out <file>', 'where the report goes (default: out/study/NAME.html)')
    .option('--open', 'open the report', false);
  withReadingOptions(command).action(async (environment: string, options: Options) => {
    const study = await conductStudy(environment, options, terminal);
    const page = await writePage(study, options.out ?? `out/study/${environment}.html`);
    const told = { ...study, report: page };
    show(terminal, options.json, told, () => describeStudy(study, terminal.width));
    const where = `report: ${page}`;
    if (options.json) terminal.remark(where);
    else terminal.result(where);
    if (options.open) openPage(page);
  });
}
