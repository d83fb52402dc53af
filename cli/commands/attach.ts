import type { Command } from 'commander';
import { systemClock } from '#src/platform/clock.ts';
import { ScreenAnswer } from '#src/protocol/native/calls.ts';
import { screenFrame } from '../attach/frame.ts';
import { connectionToFleet } from '../gateway/connection.ts';
import { askNative, createHttpClient, type HttpClient } from '../gateway/http-client.ts';
import { show, type Terminal } from '../print/terminal.ts';
import { followAnswers, type FollowOptions } from '../top/follow-fleet.ts';
import { paint } from '../top/lines.ts';
import { processScreen } from '../top/screen.ts';
import { countOf, type ReadingOptions, withReadingOptions } from './options.ts';
import { findRollout } from './rollouts.ts';

/** A sandbox whose terminals are stopped says so later. */
const deadlineMs = 40_000;

type AttachOptions = ReadingOptions & { readonly attempt?: string };

export function addAttachCommand(program: Command, terminal: Terminal, screen = processScreen): void {
  const command = program
    .command('attach')
    .description('watch a terminal of a rollout, read-only (q ends)')
    .argument('<rollout>', 'the rollout’s id (trace_id)')
    .argument('[terminal]', 'its number (default: the one that was opened last)')
    .option('--run <run>', 'its run (default: all runs are searched)')
    .option('--attempt <number>', 'which attempt (default: the newest)')
    .addHelpText(
      'after',
      '\nNothing that is typed reaches the rollout. Without a terminal it prints one screen.',
    );
  withReadingOptions(command).action(
    async (id: string, number: string | undefined, options: AttachOptions) => {
      const wanted = number === undefined ? null : countOf(number);
      const connection = connectionToFleet(options, process.env);
      const client = createHttpClient(connection);
      try {
        const { run } = await findRollout(client, id, options);
        const ask = () => askScreen(client, id, { run, terminal: wanted, attempt: options.attempt });
        if (screen.isTerminal && !options.json) {
          const frame: FollowOptions<ScreenAnswer>['frame'] = (followed, size) =>
            screenFrame(id, followed, size);
          return await followAnswers({ ask, frame, screen, clock: systemClock });
        }
        show(terminal, options.json, await ask(), (answer) => describeOnce(id, answer));
      } finally {
        await client.close();
      }
    },
  );
}

type Wanted = {
  readonly run: string;
  readonly terminal: number | null;
  readonly attempt: string | undefined;
};

function askScreen(
  client: HttpClient,
  id: string,
  { run, terminal, attempt }: Wanted,
): Promise<ScreenAnswer> {
  const query = new URLSearchParams({
    ...(terminal !== null && { terminal: String(terminal) }),
    ...(attempt !== undefined && { attempt }),
  });
  const path = `/v1/rollouts/${encodeURIComponent(id)}/screen?${query.toString()}`;
  return askNative(client, { method: 'GET', path, run, deadlineMs }, ScreenAnswer);
}

function describeOnce(id: string, answer: ScreenAnswer): string {
  const followed = { told: { answer, agoMs: 0 }, trouble: null };
  const lines = screenFrame(id, followed, { columns: Infinity, rows: Infinity });
  return lines.map((line) => paint(line, false)).join('\n');
}
