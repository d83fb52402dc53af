import { Command } from 'commander';
import { above, wholeFrom } from '#demo/command/number-options.ts';

export type SoakOptions = {
  readonly minutes: number;
  /** In one wave. */
  readonly rollouts: number;
  /** All times of the load model are divided by it. */
  readonly speed: number;
  readonly seed: string;
  readonly out: string;
  /** Four hostile policies next to honest rollouts, in pods; `cluster` too. */
  readonly hostile: boolean;
  readonly cluster: boolean;
};

/** Reads the command line; prints help or a mistake and exits by itself. */
export function readOptions(argv: readonly string[]): SoakOptions {
  return new Command('soak')
    .description(
      'Waves of rollouts through the whole fleet on this machine while its parts are killed. Ends 0 when no failure became a reward.',
    )
    .option('--minutes <n>', 'how long new waves begin', above(0), 30)
    .option('--rollouts <n>', 'rollouts in a wave', wholeFrom(1), 64)
    .option('--speed <n>', 'divides every time of the load model', above(0), 20)
    .option('--seed <text>', 'the same seed plays the same rollouts and draws the same faults', '1')
    .option('--out <folder>', 'where soak.json goes', 'out/soak')
    .option('--cluster', 'with --hostile: sandboxes are pods of the test cluster', false)
    .option('--hostile', 'with --cluster: four hostile policies next to the rollouts, no faults', false)
    .parse(argv, { from: 'user' })
    .opts<SoakOptions>();
}
