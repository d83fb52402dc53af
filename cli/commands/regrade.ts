import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { keptFolder, type KeptLine, readKept } from '#src/adapters/event-log/kept-log.ts';
import { createHttpJudge } from '#src/adapters/judge-http/http-judge.ts';
import type { Leaf } from '#src/grading/graders/evaluation.ts';
import { freshLeaves, needsSandbox } from '#src/model/grader-leaves.ts';
import { runId } from '#src/model/ids.ts';
import { ownerOf, type RolloutKey } from '#src/model/rollout.ts';
import { systemClock } from '#src/platform/clock.ts';
import { systemRandom } from '#src/platform/random.ts';
import { CommandError, NotInOrder } from '../command-error.ts';
import { stateFolderAt } from '../fleet/state-folder.ts';
import type { HttpClient } from '../gateway/http-client.ts';
import { show, type Terminal } from '../print/terminal.ts';
import { eachOf } from '../proving/play.ts';
import { onSomeFleet } from '../proving/some-fleet.ts';
import { inOwnRun } from '../proving/stage.ts';
import { gradeInSandbox } from '../regrade/in-sandbox.ts';
import { listLeftOut } from '../regrade/left-out.ts';
import { type NewGrader, readNewGrader } from '../regrade/new-grader.ts';
import { gradeOnFleet, offered } from '../regrade/on-fleet.ts';
import { describeRegrade, gradeHere, regrade, type Regraded, summaryOf } from '../regrade/regrade.ts';
import type { Outline } from '../stories/outlines.ts';
import { anyTenant, outlining, readLog } from '../stories/read-log.ts';
import { countOf, type ReadingOptions, withReadingOptions } from './options.ts';

type RegradeOptions = ReadingOptions & {
  readonly grader: string;
  readonly kept?: string;
  readonly environments: string;
  readonly atOnce: string;
};

export function addRegradeCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('regrade')
    .description('grade the kept rollouts of a run again with a newer grader, old and new side by side')
    .argument('<run>')
    .requiredOption('--grader <file>', 'YAML with grader: {…}, such as the next version of the environment')
    .option('--kept <folder>', 'folder of kept rollouts (default: that of the fleet on this machine)')
    .option(
      '--environments <folder>',
      'folder of environment files, for a fleet that is started',
      'environments',
    )
    .option('--at-once <rollouts>', 'rollouts at the same time', '8')
    .addHelpText(
      'after',
      '\nAn environment with keep: graded keeps its graded rollouts. No stored score changes. Secrets of judges are read from\nCORRAL_SECRET_NAME. Only command graders need a fleet. Such a grader must read $CORRAL_ROLLOUT alone, or have\ngrade_in: fresh and name kept artifacts; then <file> is an environment that the fleet offers.',
    );
  withReadingOptions(command).action(async (run: string, options: RegradeOptions) => {
    const newer = readNewGrader(options.grader);
    const folder = options.kept ?? keptFolder(stateFolderAt(options.state).events);
    await mustHave(run, folder);
    const logged = await readOutlines(run, options, terminal);
    const voided = new Set(logged.filter(({ voidReason }) => voidReason !== null).map(({ key }) => key));
    const graded = new Set<RolloutKey>();
    let keptButVoided = 0;
    const kept = keptOf(run, folder, ({ key }) => {
      if (voided.has(key)) keptButVoided += 1;
      else graded.add(key);
      return !voided.has(key);
    });
    const regraded = needsSandbox(newer.grader)
      ? await onSomeFleet(options, undefined, terminal, (connection) =>
          inOwnRun(connection, 'regrade', (client, own) => gradeAll(newer, kept, options, { client, own })),
        )
      : await gradeAll(newer, kept, options, null);
    const rollouts = regraded.toSorted((one, other) => one.graded_at_ms - other.graded_at_ms);
    const summary = summaryOf(rollouts, keptButVoided);
    const ok = summary.regraded === summary.rollouts;
    const left_out = listLeftOut(logged, graded, rollouts);
    const report = { run, grader: options.grader, ok, summary, rollouts, left_out };
    show(terminal, options.json, report, (data) => describeRegrade(data, terminal.width));
    if (!ok) throw new NotInOrder();
  });
}

/** Before a fleet is started for nothing. */
async function mustHave(run: string, folder: string): Promise<void> {
  const next = 'write keep: graded into its environment and play it again, or name the folder with --kept';
  if (!existsSync(folder)) throw new CommandError(`there is no folder ${folder}`, 'yours', next);
  for await (const _kept of keptOf(run, folder)) return;
  throw new CommandError(`no rollout of run ${run} is kept in ${folder}`, 'yours', next);
}

/** One at a time: with their artifacts all of a run may be more than memory holds. */
async function* keptOf(
  run: string,
  folder: string,
  isWanted: (kept: KeptLine) => boolean = () => true,
): AsyncGenerator<KeptLine> {
  for await (const kept of readKept(folder)) if (ownerOf(kept.key).run === run && isWanted(kept)) yield kept;
}

/** The run as the event log has it. */
async function readOutlines(
  run: string,
  options: RegradeOptions,
  terminal: Terminal,
): Promise<readonly Outline[]> {
  const { told, missing } = await readLog(options, anyTenant(runId(run), null), process.env, outlining);
  const lost = 'rollouts that were voided there are graded again, and not all that are left out are listed';
  for (const { keeper, why } of missing) terminal.remark(`${keeper}: ${why}; ${lost}`);
  return told.filter(({ key }) => ownerOf(key).role === 'policy');
}

type Elsewhere = { readonly client: HttpClient; readonly own: string };

async function gradeAll(
  newer: NewGrader,
  kept: AsyncIterable<KeptLine>,
  options: Pick<RegradeOptions, 'atOnce' | 'grader'>,
  elsewhere: Elsewhere | null,
): Promise<readonly Regraded[]> {
  const atOnce = countOf(options.atOnce);
  const idOf = (index: number) => `${elsewhere?.own}-${index + 1}-${systemRandom.text(6)}`;
  if (elsewhere !== null && freshLeaves(newer.grader).length > 0) {
    const by = await offered(elsewhere.client, options.grader, newer);
    return eachOf(kept, atOnce, (one, index) =>
      regrade(one, () => gradeOnFleet(elsewhere.client, idOf(index), by, one)),
    );
  }
  const judge = createHttpJudge({ clock: systemClock, random: systemRandom });
  try {
    return await eachOf(kept, atOnce, (one, index) => {
      const { environment, item, amounts } = one;
      const where = { environment, item, amounts, rollout: JSON.stringify(one.rollout) };
      const deps = {
        judge,
        secret: (name: string) => process.env[`CORRAL_SECRET_${name}`],
        runCommand: (_kept: KeptLine, leaf: Leaf<'command'>) => {
          if (elsewhere === null) throw new Error('a grader that needs a sandbox was not foreseen');
          return gradeInSandbox({ ...where, client: elsewhere.client, rolloutId: idOf(index) }, leaf);
        },
      };
      return regrade(one, () => gradeHere(deps, newer.grader, one));
    });
  } finally {
    await judge.close();
  }
}
