import type { Command } from 'commander';
import { systemClock } from '#src/platform/clock.ts';
import { FleetAnswer } from '#src/protocol/native/fleet.ts';
import { connectionToFleet } from '../gateway/connection.ts';
import { askNative, createHttpClient, type HttpClient } from '../gateway/http-client.ts';
import { timeOfDay } from '../print/amounts.ts';
import type { Terminal } from '../print/terminal.ts';
import { followFleet } from '../top/follow-fleet.ts';
import { frameOf } from '../top/frame.ts';
import { paint } from '../top/lines.ts';
import { processScreen } from '../top/screen.ts';
import { type ReadingOptions, withReadingOptions } from './options.ts';

/** A gateway that has not answered by then is shown as one that does not answer. */
const deadlineMs = 5_000;

export function addTopCommand(program: Command, terminal: Terminal, screen = processScreen): void {
  const command = program
    .command('top')
    .description('live view of the fleet: queue, pools, verdicts, processes (q quits)')
    .addHelpText('after', '\nWithout a terminal it prints one frame and exits.');
  withReadingOptions(command).action(async (options: ReadingOptions) => {
    const connection = connectionToFleet(options, process.env);
    const client = createHttpClient(connection);
    const { url } = connection;
    const ask = () => askFleet(client);
    try {
      if (options.json) terminal.result(JSON.stringify(await ask(), null, 2));
      else if (screen.isTerminal) await followFleet({ url, ask, screen, clock: systemClock });
      else terminal.result(describeOnce(url, await ask(), terminal.width));
    } finally {
      await client.close();
    }
  });
}

const askFleet = (client: HttpClient) =>
  askNative(client, { method: 'GET', path: '/v1/fleet', deadlineMs }, FleetAnswer);

function describeOnce(url: string, answer: FleetAnswer, width: number): string {
  const told = { answer, agoMs: 0 };
  const view = { url, timeOfDay: timeOfDay(systemClock.nowMs()), told, trouble: null, footer: null };
  const lines = frameOf(view, { columns: width, rows: Infinity });
  return lines.map((line) => paint(line, false)).join('\n');
}
