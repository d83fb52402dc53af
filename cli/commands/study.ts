import type { Command } from 'commander';
import { CommandError } from '../command-error.ts';
import { show, type Terminal } from '../print/terminal.ts';
import { readRows } from '../proving/rows.ts';
import { usualAssumptions } from '../study/burst.ts';
import { conductStudy, type StudyPlan, type StudySource } from '../study/conduct.ts';
import { describeStudy, openPage, writePage } from '../study/report.ts';
import {
  chosenRows,
  countOf,
  eventsHelp,
  tenantHelp,
  type ReadingOptions,
  type RowOptions,
  withReadingOptions,
  withRowOptions,
  usualEnvironments,
} from './options.ts';
import { docsPage } from '#src/platform/docs.ts';

type Options = ReadingOptions &
  RowOptions & {
    readonly environments: string;
    readonly eval?: string;
    readonly group?: readonly string[];
    readonly policy?: readonly string[];
    readonly copies: string;
    readonly atOnce: string;
    readonly run?: string;
    readonly events?: string;
    readonly kept?: string;
    readonly store?: string;
    readonly tenant?: string;
    readonly model?: string;
    readonly endpoint?: string;
    readonly keyVariable: string;
    readonly prompt?: string;
    readonly maxTokens: string;
    readonly temperature?: string;
    readonly replyTimeout: string;
    readonly turns: string;
    readonly tokenBudget: string;
    readonly against?: string;
    readonly stepRollouts: string;
    readonly groupSize: string;
    readonly out?: string;
    readonly open: boolean;
  };

export function addStudyCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('study')
    .description('check whether an environment can be learned before you pay for a run, and what to fix')
    .argument('<environment>')
    .option('--environments <folder>', 'folder of environment files', usualEnvironments)
    .option('--eval <file>', 'rows kept for evaluation (default: the dataset’s), to see what both share')
    .option('--group <field...>', 'fields that name the source of a row (default: the dataset’s disjoint)')
    .option('--copies <count>', 'rollouts of each row', '4')
    .option('--at-once <rollouts>', 'rollouts at the same time', '8')
    .option('--policy <name...>', 'play these policies of the ladder (default: of kind naive and good)')
    .option('--run <run>', 'read a recorded run instead of playing')
    .option('--events <file>', eventsHelp)
    .option('--kept <folder>', 'with --run: its kept rollouts of this folder in place of the event log')
    .option(
      '--store <place>',
      'with --run: its kept rollouts of this trajectory store, a folder or s3://bucket/prefix',
    )
    .option('--tenant <name>', `with --run: ${tenantHelp}`)
    .option('--model <name>', 'play this model of --endpoint')
    .option('--endpoint <url>', 'address of an API that has chat/completions with tools')
    .option('--key-variable <name>', 'environment variable with the endpoint’s key', 'OPENAI_API_KEY')
    .option('--prompt <file>', 'the model’s prompt for a row, with {item.field} (default: the dataset’s)')
    .option('--max-tokens <count>', 'maximum tokens of one reply', '4096')
    .option('--temperature <number>', 'temperature of the model (default: the endpoint’s)')
    .option('--reply-timeout <seconds>', 'timeout of one reply', '300')
    .option('--turns <count>', 'maximum replies of one rollout', '64')
    .option('--token-budget <count>', 'maximum tokens of all rollouts, read and written', '2000000')
    .option('--against <name>', 'compare item by item with another run or policy')
    .option('--step-rollouts <count>', 'assumed rollouts in a training step', '512')
    .option('--group-size <count>', 'assumed copies of an item in a step', '8')
    .option('--out <file>', 'where the report goes (default: out/study/NAME.html)')
    .option('--open', 'open the report', false)
    .addHelpText(
      'after',
      `\nPlays 40 rows of the training split, if the environment names one (--rows, --split). ${docsPage('study.md')} explains the report.`,
    );
  withReadingOptions(withRowOptions(command)).action(async (environment: string, options: Options) => {
    const study = await conductStudy(planOf(environment, options), terminal);
    const report = await writePage(study, options.out ?? `out/study/${environment}.html`);
    show(terminal, options.json, { ...study, report }, () => describeStudy(study, terminal.width));
    const where = `report: ${report}`;
    if (options.json) terminal.remark(where);
    else terminal.result(where);
    if (options.open) openPage(report);
  });
}

function planOf(environment: string, options: Options): StudyPlan {
  const { url, key, state, events, environments } = options;
  return {
    environment,
    source: sourceOf(options),
    against: options.against ?? null,
    rows: chosenRows(options),
    evaluation: options.eval === undefined ? null : readRows(options.eval),
    origins: options.group ?? [],
    copies: countOf(options.copies),
    atOnce: countOf(options.atOnce),
    assumed: {
      ...usualAssumptions,
      rolloutsPerStep: countOf(options.stepRollouts),
      copiesPerItem: countOf(options.groupSize),
    },
    // The run that is studied is not where a command would play.
    fleet: { url, key, state, events, environments },
  };
}

function sourceOf(options: Options): StudySource {
  const { run, model, policy, kept, store, tenant, state } = options;
  const named = [run, model, policy].filter((source) => source !== undefined);
  if (named.length > 1)
    throw new CommandError('--run, --model and --policy name different sources', 'yours', 'give one of them');
  const isKept = kept !== undefined || store !== undefined;
  if (run !== undefined) return { kind: 'run', run, tenant, kept: isKept ? { kept, store, state } : null };
  if (isKept)
    throw new CommandError('--kept and --store are of a recorded run', 'yours', 'name it with --run');
  if (model === undefined) return { kind: 'ladder', policies: policy ?? [] };
  return {
    kind: 'model',
    settings: {
      url: endpointOf(options.endpoint),
      model,
      key: process.env[options.keyVariable] ?? null,
      maxTokens: countOf(options.maxTokens),
      temperature: options.temperature === undefined ? null : numberOf(options.temperature),
      timeoutMs: countOf(options.replyTimeout) * 1000,
    },
    promptFile: options.prompt ?? null,
    turns: countOf(options.turns),
    tokenBudget: countOf(options.tokenBudget),
  };
}

function endpointOf(url: string | undefined): string {
  if (url !== undefined && URL.canParse(url) && /^https?:/.test(url)) return url;
  const said = url === undefined ? '--model needs --endpoint' : `not an endpoint's address: ${url}`;
  throw new CommandError(said, 'yours', 'give it like https://models.example.com/v1');
}

function numberOf(text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && Number.isFinite(value) && value >= 0) return value;
  throw new CommandError(`not a temperature: ${text}`, 'yours', 'give a number from 0');
}
