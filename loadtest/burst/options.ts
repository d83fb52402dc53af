import { Command, InvalidArgumentError, Option } from 'commander';
import { above, wholeFrom } from '#demo/command/number-options.ts';
import { isObject, readObject } from '#demo/trainer/reading.ts';
import { type Arrival, arrivals } from '../load-model/bursts.ts';

export type LoadOptions = {
  readonly url: string;
  readonly key: string;
  readonly environment: string;
  readonly face: (typeof faces)[number];
  /** Of a run of its own where it is left out. */
  readonly run?: string;
  /** In one burst. */
  readonly rollouts: number;
  readonly waves: number;
  /** Rollouts under way at most; one that ends is replaced. */
  readonly atOnce?: number;
  readonly groups: number;
  /** At most so many in a rollout. */
  readonly calls: number;
  /** Seconds before each step, instead of the load model's. */
  readonly think?: number;
  readonly arrival: Arrival;
  /** Share of the rollouts whose every request opens a connection of its own. */
  readonly newConnections: number;
  readonly speed: number;
  readonly seed: string;
  readonly minutes: number;
  /** Seconds that the burst is announced before it. */
  readonly announce?: number;
  readonly tool?: string;
  /** JSON text, for a tool that runs no command. */
  readonly arguments?: string;
  readonly item: Readonly<Record<string, unknown>>;
  readonly answer: string;
  readonly anyScore: boolean;
  readonly allScored: boolean;
  readonly json?: string;
  readonly out: string;
};

const faces = ['rft', 'native'] as const;

/** A wrong command line ends as everything does that is the caller's and stands before any load. */
const mistakeExitCode = 2;

/** Environments allow 40 calls where they say nothing; a call beyond runs nothing and proves nothing. */
const mostCalls = 38;

/** Reads the command line; prints help or a mistake and exits by itself. */
export function readOptions(
  argv: readonly string[],
  variables: Readonly<Record<string, string | undefined>>,
): LoadOptions {
  const { CORRAL_URL, CORRAL_KEY } = variables;
  const command = new Command('load')
    .description(
      'A burst of the load model at an installed fleet, judged by what the trainer saw. Ends 0 when all four zeros hold.',
    )
    .addOption(required('--url <url>', 'the gateway, as trainers reach it (CORRAL_URL)', CORRAL_URL))
    .addOption(
      required(
        '--key <key>',
        'an API key; scope native adds warm, cold and the end of the run (CORRAL_KEY)',
        CORRAL_KEY,
      ),
    )
    .option('--environment <name>', 'what the rollouts run in', 'shell')
    .addOption(new Option('--face <face>', 'how the trainer speaks').choices(faces).default('rft'))
    .option('--run <name>', 'a new run; it is closed in the end (default: a name of its own)')
    .option('--rollouts <n>', 'rollouts in a burst', wholeFrom(1), 64)
    .option('--waves <n>', 'bursts, one after the other', wholeFrom(1), 1)
    .option(
      '--at-once <n>',
      'rollouts under way at most; one that ends is replaced (default: all)',
      wholeFrom(1),
    )
    .option('--groups <n>', 'rollouts of one group', wholeFrom(1), 8)
    .option('--calls <n>', 'most calls of a rollout, the reading back included', wholeFrom(2), mostCalls)
    .option('--think <s>', 'seconds before each step (default: drawn, a median of 5.7 s)', above(0))
    .addOption(
      new Option('--arrival <shape>', 'all within 250 ms; over 6 s; over 10 to 20 s')
        .choices(arrivals)
        .default('spike'),
    )
    .option(
      '--new-connections <share>',
      'of rollouts whose every request has a connection of its own',
      share,
      0,
    )
    .option('--speed <n>', 'divides every time of the load model', above(0), 10)
    .option('--seed <text>', 'the same seed plays the same rollouts', '1')
    .option(
      '--minutes <n>',
      'no rollout begins and none goes on after this; what runs is graded',
      above(0),
      30,
    )
    .option('--announce <s>', 'announces the burst so many seconds before it', above(0))
    .option('--tool <name>', 'what is called (default: the first tool that takes a command)')
    .option(
      '--arguments <json>',
      'of a tool that takes no command: then what ran cannot be checked',
      jsonText,
    )
    .option('--item <json>', 'dataset row of every rollout, without its id', jsonObject, { answer: '42' })
    .option('--answer <text>', 'the right answer, which half of the policies give', '42')
    .option('--any-score', 'do not compare scores with those of a rollout alone: a judge may differ', false)
    .option('--all-scored', 'end 1 also where a rollout was not scored or an answer was not 200', false)
    .option('--json <file>', 'where the findings go as JSON')
    .option('--out <folder>', 'where the picture goes', 'out/load')
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : mistakeExitCode));
  return command.parse(argv, { from: 'user' }).opts<LoadOptions>();
}

/** What the environment names needs no option; help does not print a key. */
function required(flags: string, description: string, given: string | undefined): Option {
  const option = new Option(flags, description);
  return given === undefined ? option.makeOptionMandatory() : option.default(given, 'set');
}

function share(text: string): number {
  const value = text.trim() === '' ? Number.NaN : Number(text);
  if (value >= 0 && value <= 1) return value;
  throw new InvalidArgumentError('A share from 0 to 1 is expected.');
}

function jsonObject(text: string): Readonly<Record<string, unknown>> {
  const value = readObject(text);
  if (isObject(value)) return value;
  throw new InvalidArgumentError('A JSON object is expected.');
}

const jsonText = (text: string): string => JSON.stringify(jsonObject(text));
