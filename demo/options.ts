import { Command, Option } from 'commander';
import { imageNames } from '#infra/images/catalogue.ts';
import { wholeFrom } from './command/number-options.ts';

export const providers = ['local', 'kubernetes'] as const;

export type DemoOptions = {
  /** What the sandboxes are: processes of this machine, or pods of the cluster that kubectl would use. */
  readonly provider: (typeof providers)[number];
  /** Of the pods. */
  readonly image: string;
  readonly tasks: number;
  readonly copies: number;
  /** Warm sandboxes kept ready. */
  readonly pool: number;
  /** Sandboxes to kill. */
  readonly kill: number;
  readonly seed: string;
  readonly out: string;
  /** The fleet and its console stay until Ctrl-C. */
  readonly keep: boolean;
};

/** Reads the command line; prints help or a mistake and exits by itself. */
export function readOptions(argv: readonly string[]): DemoOptions {
  const command = new Command('demo')
    .description(
      'A burst of rollouts through the whole fleet. Scripted policies play the trainer; no model is called.',
    )
    .addOption(
      new Option('--provider <name>', 'sandboxes on this machine, or as pods of a cluster')
        .choices(providers)
        .default('local'),
    )
    .option('--image <reference>', 'of the pods: sandboxd and the repositories in it', imageNames.demo)
    .option('--tasks <n>', 'tasks to play', wholeFrom(1), 8)
    .option('--copies <n>', 'rollouts of each task', wholeFrom(1), 8)
    // A quarter of the default burst: enough to show warm starts, few enough that cold ones show too.
    .option('--pool <n>', 'warm sandboxes kept ready', wholeFrom(0), 16)
    .option('--kill <n>', 'sandboxes to kill while they work', wholeFrom(0), 3)
    .option('--seed <text>', 'the same seed plays the same rollouts', '1')
    .option('--out <folder>', 'where the report goes', 'out/demo')
    .option('--keep', 'leave the fleet and its console up until Ctrl-C', false)
    .parse(argv, { from: 'user' });
  return command.opts<DemoOptions>();
}
