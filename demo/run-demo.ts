import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { WriteStream } from 'node:tty';
import type { Clock } from '#src/ports/clock.ts';
import type { Random } from '#src/ports/random.ts';
import { type DemoFleet, environment, environmentTools } from './fleet/demo-fleet.ts';
import { type FleetView, openFleetView } from './fleet/fleet-view.ts';
import { chooseVictims, Killer } from './fleet/killer.ts';
import type { DemoOptions } from './options.ts';
import { aboutThisRun } from './report/about.ts';
import { expectations } from './report/expectations.ts';
import { reportHtml } from './report/html.ts';
import { type Findings, type Report, reportOf } from './report/report.ts';
import { seededRandom } from './seeded-random.ts';
import type { Task } from './tasks/load-tasks.ts';
import { Board, showLive } from './terminal/board.ts';
import { summaryLines } from './terminal/summary.ts';
import { openHttp } from './trainer/http.ts';
import { planBurst, playBurst, type RolloutPlan } from './trainer/rollout.ts';
import { trainingJob } from './trainer/training-job.ts';

export type DemoWorld = { readonly clock: Clock; readonly random: Random; readonly out: WriteStream };

/** A model writes for about this long before each of its steps. Short, so that the demo is; real ones take longer. */
const thinkMs = { least: 300, most: 1200 };

/** Plays the burst on a fleet that is up, writes the report, and says whether everything was as it must be. */
export async function runDemo(
  options: DemoOptions,
  tasks: readonly Task[],
  fleet: DemoFleet,
  world: DemoWorld,
): Promise<boolean> {
  const run = `demo-${world.random.text(8)}`;
  const view = openFleetView(fleet.gatewayUrl, fleet.apiKey, run);
  const plans = planBurst(tasks, options.copies, options.seed);
  const burst = await playWithKills(plans, { options, fleet, view, run, world });
  const findings = { ...burst, run, seed: options.seed, ...(await fleetSide(view)) };
  const expected = expectations({ rollouts: plans.length, kills: options.kill }, findings);
  const report = reportOf(findings);
  const page = await writeReport(options.out, report, findings);
  world.out.write(`\n${summaryLines(report, expected).join('\n')}\n${page}\n`);
  return expected.every((one) => one.held);
}

type Stage = {
  readonly options: DemoOptions;
  readonly fleet: DemoFleet;
  readonly view: FleetView;
  readonly run: string;
  readonly world: DemoWorld;
};

/** The burst itself, watched on the terminal, while its victims lose their sandboxes. */
async function playWithKills(plans: readonly RolloutPlan[], stage: Stage) {
  const { clock, out } = stage.world;
  const startMs = clock.monotonicMs();
  const elapsedMs = () => clock.monotonicMs() - startMs;
  const killer = createKiller(plans, stage, elapsedMs);
  const board = new Board(plans.map(({ rollout, item }) => ({ rollout, task: item.id })));
  const stopShowing = showLive(
    {
      block: () => board.block(elapsedMs(), killer.kills.length),
      line: () => board.summary(elapsedMs(), killer.kills.length),
    },
    out,
  );
  const http = openHttp();
  try {
    const records = await playBurst(plans, {
      job: jobOf(stage),
      post: http.post,
      clock,
      random: stage.world.random,
      thinkMs,
      startMs,
      tell: (event) => {
        board.hear(event);
        killer.hear(event);
      },
    });
    for (const mistake of await killer.settled()) out.write(`${mistake}\n`);
    return { records, kills: killer.kills };
  } finally {
    stopShowing();
    await http.close();
  }
}

const jobOf = ({ fleet, run }: Stage) =>
  trainingJob({
    gatewayUrl: fleet.gatewayUrl,
    apiKey: fleet.apiKey,
    run,
    environment,
    tools: environmentTools,
  });

function createKiller(plans: readonly RolloutPlan[], stage: Stage, nowMs: () => number): Killer {
  const { options, fleet, view } = stage;
  const victims = chooseVictims(plans, options.kill, seededRandom(`${options.seed}/kill`));
  return new Killer({
    victims: new Set(victims.map((plan) => plan.rollout)),
    sandboxOf: (rollout) => view.sandboxOf(rollout),
    kill: (sandbox) => fleet.kill(sandbox),
    nowMs,
  });
}

async function fleetSide(view: FleetView) {
  const [fleetRun, fleetRollouts] = await Promise.all([view.run(), view.rollouts()]);
  return { fleetRun, fleetRollouts };
}

/** Returns where a reader finds the page. */
async function writeReport(folder: string, report: Report, findings: Findings): Promise<string> {
  const page = join(folder, 'report.html');
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'report.json'), `${JSON.stringify(report, null, 2)}\n`);
  await writeFile(page, reportHtml(report, findings, aboutThisRun(process.argv.slice(2))));
  return `Report: ${page} (and report.json next to it)`;
}
