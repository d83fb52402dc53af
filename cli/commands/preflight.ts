import type { Command } from 'commander';
import { CommandError, NotInOrder } from '../command-error.ts';
import { commonTargets } from '../preflight/egress/targets.ts';
import { preflight } from '../preflight/preflight.ts';
import { describePreflight } from '../preflight/report.ts';
import { show, type Terminal } from '../print/terminal.ts';
import { onSomeFleet } from '../proving/some-fleet.ts';
import {
  chosenRows,
  type ReadingOptions,
  type RowOptions,
  withReadingOptions,
  withRowOptions,
  usualEnvironments,
} from './options.ts';

type PreflightOptions = ReadingOptions &
  RowOptions & {
    readonly environments: string;
    readonly hold: string;
    readonly probe: readonly string[];
    readonly task: readonly string[];
    readonly kubeconfig?: string;
    readonly egress: boolean;
    readonly hideKey: boolean;
  };

export function addPreflightCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('preflight')
    .description('try every tool and grader as a training job would, and print the job’s tools and grader')
    .argument('[environment]', 'only this one (default: all)')
    .option('--environments <folder>', 'folder of environment files', usualEnvironments)
    .option('--run <run>', 'the run to name in the printed job')
    .option('--hold <seconds>', 'with --url: hold one request this long, to find proxies that cut it', '70');
  command
    .option(
      '--probe <host:port>',
      'an address that sandboxes without a network must not reach; repeatable',
      andThese,
      [],
    )
    .option(
      '--kubeconfig <file>',
      'sandboxes must not reach its API server (default: KUBECONFIG, or the cluster it runs in)',
    );
  command.option(
    '--task <folder>',
    'try this task in Harbor’s format instead: its demands, health check, nop and own solution; repeatable',
    andThese,
    [],
  );
  command
    .option('--no-egress', 'do not check what sandboxes reach: for a cluster that enforces no network policy')
    .option('--hide-key', 'print $CORRAL_KEY instead of the key: for output that is stored', false);
  withReadingOptions(withRowOptions(command)).action(
    async (environment: string | undefined, options: PreflightOptions) => {
      const rows = chosenRows(options);
      const forbidden = options.egress
        ? await commonTargets(options.probe, options.kubeconfig ?? null, process.env)
        : null;
      const report = await onSomeFleet(options, environment, terminal, (connection) =>
        preflight(connection, {
          only: environment,
          rows,
          environmentsDir: options.environments,
          // On this machine nothing stands in between, so holding a request would only take time.
          holdS: options.url === undefined ? 0 : Number(options.hold),
          forbidden,
          tasks: tasksOf(options.task, environment),
          shownKey: options.hideKey ? '$CORRAL_KEY' : connection.key,
        }),
      );
      show(terminal, options.json, report, (data) => describePreflight(data, terminal.width));
      if (!report.ok) throw new NotInOrder();
    },
  );
}

function tasksOf(tasks: readonly string[], environment: string | undefined): readonly string[] {
  if (tasks.length === 0 || environment !== undefined) return tasks;
  throw new CommandError(
    '--task was given without an environment',
    'yours',
    'name the one that the task is to run in',
  );
}

const andThese = (one: string, others: readonly string[]): readonly string[] => [...others, one];
