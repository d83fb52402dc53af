import type { Command } from 'commander';
import { defaultStateFolder } from '../fleet/state-folder.ts';

export type ReadingOptions = {
  readonly url?: string;
  readonly key?: string;
  readonly run?: string;
  readonly state: string;
  readonly json: boolean;
};

/** Of `--events`: where lines go to standard output, a log collector has them. */
export const eventsHelp =
  'event lines of a file, or - for standard input, instead of the fleet’s own logs; other lines are passed over';

/** What every command that asks a fleet may be told. */
export function withReadingOptions(command: Command): Command {
  return command
    .option('--url <url>', 'the gateway (default: CORRAL_URL, else the fleet on this machine)')
    .option('--key <key>', 'the API key (default: CORRAL_KEY, else the development key of this machine)')
    .option('--state <folder>', 'state folder of a fleet on this machine', defaultStateFolder)
    .option('--json', 'print data instead of text', false);
}
