import { Command } from 'commander';
import { wholeFrom } from './command/number-options.ts';

export type DemoOptions = {
  readonly tasks: number;
  readonly copies: number;
  /** Warm sandboxes kept ready. */
  readonly pool: number;
  /** Sandboxes to kill. */
  readonly kill: number;
  readonly seed: string;
  readonly out: string;
};

/** Reads the command line; prints help or a mistake and exits by itself. */
export function readOptions(argv: readonly string[]): DemoOptions {
  const command = new Command('demo')
    .description(
      'A burst of rollouts through the whole fleet on this machine. Scripted policies play the trainer; no model is called.',
    )
    .option('--tasks <n>', 'tasks to play', wholeFrom(1), 8)
    .option('--copies <n>', 'rollouts of each task', wholeFrom(1), 8)
    // A quarter of the default burst: enough to show warm starts, few enough that cold ones show too.
    .option('--pool <n>', 'warm sandboxes kept ready', wholeFrom(0), 16)
    .option('--kill <n>', 'sandboxes to kill while they work', wholeFrom(0), 3)
    .option('--seed <text>', 'the same seed plays the same rollouts', '1')
    .option('--out <folder>', 'where the report goes', 'out/demo')
    .parse(argv, { from: 'user' });
  return command.opts<DemoOptions>();
}
