import { Argument, Command } from 'commander';
import { CommandError, exitCodes } from '#cli/command-error.ts';
import { countOf } from '#cli/commands/options.ts';
import { defaultStateFolder } from '#cli/fleet/state-folder.ts';
import { processTerminal as terminal } from '#cli/print/terminal.ts';
import { onOwnFleet, placesIn } from '#cli/proving/some-fleet.ts';
import { openPage } from '#cli/study/report.ts';
import { serveAllJudges } from './judges.ts';
import { type Played, playOne, studyOne } from './play.ts';
import { galleryFolder, type GalleryName, galleryNames, writeRows } from './roster.ts';
import { summaryOf } from './summary.ts';

type Options = {
  readonly rows?: string;
  readonly atOnce: string;
  readonly tries: string;
  readonly open: boolean;
};

/** What was built for the last fleet of this checkout is found again: payload and data. */
const ownFleet = { environmentsDir: galleryFolder, ...placesIn(defaultStateFolder) };

/** What a ladder is played on where nobody says how many. */
const usualRows = 24;

/** Exit codes: 0 all in order, 1 a rung or an attack is not, 2 a mistake of yours, 3 it could not be played. */
const command = new Command('gallery')
  .description(
    'Makes environments that run on real input, and plays their ladders and attacks on a fleet of its own.',
  )
  .addArgument(new Argument('[name]', 'one of them (default: all)').choices(galleryNames))
  .option('--rows <count>', 'rows of each ladder (default: 24 of eval) and of a study (default: 40 of train)')
  .option('--tries <count>', 'rollouts of each attack', '3')
  .option('--at-once <rollouts>', 'rollouts at the same time', '8')
  .option('--open', 'open the report of the one that is named', false)
  .action(async (name: GalleryName | undefined, options: Options) => {
    process.exitCode = await main(name === undefined ? galleryNames : [name], options).catch(explained);
  });
await command.parseAsync(process.argv.slice(2), { from: 'user' });

async function main(names: readonly GalleryName[], options: Options): Promise<number> {
  const given = options.rows === undefined ? null : countOf(options.rows);
  const playing = {
    rows: given ?? usualRows,
    atOnce: countOf(options.atOnce),
    tries: countOf(options.tries),
  };
  for (const name of names) {
    const made = writeRows(name);
    terminal.remark(`${name}: ${made.train} rows to learn from, ${made.eval} to evaluate with`);
  }
  await using _judges = await serveAllJudges(names);
  const { played: all, report } = await onOwnFleet('gallery', ownFleet, async (fleet) => {
    const connection = { url: fleet.gatewayUrl, key: fleet.apiKey, run: null };
    const played: Played[] = [];
    for (const name of names) played.push(await playOne(connection, name, playing, terminal));
    // All of them at once are to be compared; whoever names one wants to know whether it can be learnt.
    const [only, ...others] = names;
    const alone = only !== undefined && others.length === 0;
    const report = alone
      ? await studyOne(connection, only, { rows: given, atOnce: playing.atOnce }, terminal)
      : null;
    return { played, report };
  });
  terminal.result(summaryOf(all, terminal.width));
  if (report !== null) terminal.result(`report: ${report}`);
  if (report !== null && options.open) openPage(report);
  const inOrder = all.every(({ ladder, attacks }) => ladder.ok && attacks.ok);
  return inOrder ? exitCodes.done : exitCodes.notInOrder;
}

function explained(error: unknown): number {
  if (!(error instanceof CommandError)) throw error;
  terminal.remark(`gallery: ${error.message}\n  whose: ${error.fault}\n  next:  ${error.next}`);
  return error.exitCode;
}
