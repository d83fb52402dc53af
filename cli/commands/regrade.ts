import type { Command } from 'commander';
import type { KeptLine } from '#src/adapters/event-log/kept-log.ts';
import { createHttpJudge } from '#src/adapters/judge-http/http-judge.ts';
import type { Leaf } from '#src/grading/graders/evaluation.ts';
import { freshLeaves, needsSandbox } from '#src/model/grader-leaves.ts';
import { runId } from '#src/model/ids.ts';
import { ownerOf, type RolloutKey } from '#src/model/rollout.ts';
import { systemClock } from '#src/platform/clock.ts';
import { systemRandom } from '#src/platform/random.ts';
import { CommandError, NotInOrder } from '../command-error.ts';
import type { HttpClient } from '../gateway/http-client.ts';
import { show, type Terminal } from '../print/terminal.ts';
import { eachOf } from '../proving/play.ts';
import { onSomeFleet } from '../proving/some-fleet.ts';
import { inOwnRun } from '../proving/stage.ts';
import { gradeInSandbox } from '../regrade/in-sandbox.ts';
import { type LeftOut, listLeftOut } from '../regrade/left-out.ts';
import { type NewGrader, readNewGrader } from '../regrade/new-grader.ts';
import { gradeOnFleet, offered } from '../regrade/on-fleet.ts';
import {
  describeRegrade,
  gradeHere,
  regrade,
  type Regraded,
  summaryOf,
  whyNotRegradable,
} from '../regrade/regrade.ts';
import type { Outline } from '../stories/outlines.ts';
import { keptOf, type KeptSource, openKept } from '../stories/kept-source.ts';
import { makingOfOne, type OfRun } from '../stories/one-tenant.ts';
import { anyTenant, outlining, readLog } from '../stories/read-log.ts';
import { countOf, type ReadingOptions, storeHelp, tenantHelp, withReadingOptions } from './options.ts';

type RegradeOptions = ReadingOptions & {
  readonly grader: string;
  readonly kept?: string;
  readonly store?: string;
  readonly tenant?: string;
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
    .option('--store <place>', storeHelp)
    .option('--tenant <name>', tenantHelp)
    .option(
      '--environments <folder>',
      'folder of environment files, for a fleet that is started',
      'environments',
    )
    .option('--at-once <rollouts>', 'rollouts at the same time', '8')
    .addHelpText(
      'after',
      '\nAn environment with keep: graded keeps its graded rollouts. No stored score changes. A grader that reads what calls said does not get a\nrollout with a text that is cut or missing: it is listed as not regradable. Secrets of judges are read from\nCORRAL_SECRET_NAME. Only command graders need a fleet. Such a grader must read $CORRAL_ROLLOUT alone, or have\ngrade_in: fresh and name kept artifacts; then <file> is an environment that the fleet offers.',
    );
  withReadingOptions(command).action(async (run: string, options: RegradeOptions) => {
    const newer = readNewGrader(options.grader);
    const source = openKept(options, process.env);
    const ofRun = { run, tenant: options.tenant };
    const unreadable = new Set<string>();
    const read = (name: string, why: string) => void unreadable.add(`${name}: ${why}`);
    await mustHave(ofRun, source);
    const logged = await readOutlines(ofRun, options, terminal);
    const voided = new Set(logged.filter(({ voidReason }) => voidReason !== null).map(({ key }) => key));
    const graded = new Set<RolloutKey>();
    let keptButVoided = 0;
    const cut: LeftOut[] = [];
    const kept = keptOf(ofRun, source, read, (one) => {
      if (voided.has(one.key)) {
        keptButVoided += 1;
        return false;
      }
      graded.add(one.key);
      const why = whyNotRegradable(newer.grader, one);
      if (why !== null) cut.push({ rollout: ownerOf(one.key).rollout, reason: 'not_regradable', why });
      return why === null;
    });
    const regraded = needsSandbox(newer.grader)
      ? await onSomeFleet(options, undefined, terminal, (connection) =>
          inOwnRun(connection, 'regrade', (client, own) => gradeAll(newer, kept, options, { client, own })),
        )
      : await gradeAll(newer, kept, options, null);
    for (const each of unreadable) terminal.remark(`${each}; what is in it is not graded again`);
    const rollouts = regraded.toSorted((one, other) => one.graded_at_ms - other.graded_at_ms);
    const summary = summaryOf(rollouts, keptButVoided);
    const ok = summary.regraded === summary.rollouts && unreadable.size === 0 && cut.length === 0;
    const left_out = [...cut, ...listLeftOut(logged, graded, rollouts)];
    const report = { run, grader: options.grader, ok, summary, rollouts, left_out };
    show(terminal, options.json, report, (data) => describeRegrade(data, terminal.width));
    if (!ok) throw new NotInOrder();
  });
}

/** Before a fleet is started for nothing. */
async function mustHave(ofRun: OfRun, source: KeptSource): Promise<void> {
  const { run } = ofRun;
  const next =
    'write keep: graded into its environment and play it again, or name the place with --kept or --store';
  if (!source.isThere) throw new CommandError(`there is no folder ${source.place}`, 'yours', next);
  for await (const _kept of keptOf(ofRun, source, () => undefined)) return;
  throw new CommandError(`no rollout of run ${run} is kept in ${source.place}`, 'yours', next);
}

/** The run as the event log has it. */
async function readOutlines(
  ofRun: OfRun,
  options: RegradeOptions,
  terminal: Terminal,
): Promise<readonly Outline[]> {
  const wanted = anyTenant(runId(ofRun.run), null);
  const { told, missing } = await readLog(options, wanted, process.env, () =>
    makingOfOne(ofRun, outlining()),
  );
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
