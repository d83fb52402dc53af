import { largestShare } from '#src/environments/pool-room.ts';
import { type Environment, isOpenTemplate } from '#src/model/environment.ts';
import type { Connection } from '../gateway/connection.ts';
import type { HttpClient } from '../gateway/http-client.ts';
import { environmentIn, harmlessAnswersOf, type Row, type RowChoice, rowsOf } from '../proving/rows.ts';
import { environmentsOf, inOwnRun } from '../proving/stage.ts';
import { askTrainingJob, type TrainingJob } from '../proving/training-job.ts';
import { checkRow } from './check-row.ts';
import { couldNotStart, type RowUnderTest } from './check-start.ts';
import { checkShared } from './check-shared.ts';
import { checkWay } from './check-way.ts';
import { checkWritable } from './check-writable.ts';
import { checkTask } from './task/check-task.ts';
import { checkEgress, type Egress, type Target } from './egress/check-egress.ts';
import type { Check } from './check.ts';
import type { PreflightReport } from './report.ts';

export type PreflightPlan = {
  /** Only this environment; undefined = all. */
  readonly only: string | undefined;
  /** Which rows of each environment, see `rowsOf`. */
  readonly rows: RowChoice;
  /** Folder of environment files. */
  readonly environmentsDir: string;
  /** How long one request is held on its way; 0 = not at all. */
  readonly holdS: number;
  /** What a sandbox without a network must not reach, in addition to its neighbors; null: not checked. */
  readonly forbidden: readonly Target[] | null;
  /** Folders of tasks in Harbor's format, to be tried in the environment. */
  readonly tasks: readonly string[];
  /** What stands for the key in the printed job. */
  readonly shownKey: string;
};

/** Tries everything and tells what was seen; a failed check does not end it. */
export function preflight(connection: Connection, plan: PreflightPlan): Promise<PreflightReport> {
  return inOwnRun(connection, 'preflight', async (client, run) => {
    const checks: Check[] = [];
    const jobs: Record<string, TrainingJob> = {};
    const played: string[] = [];
    const egress: Record<string, Egress | null> = {};
    const tested = await environmentsOf(client, plan.only);
    for (const folder of plan.tasks) {
      for (const { name } of tested)
        checks.push(...(await checkTask({ client, environment: name, run }, folder)));
    }
    if (plan.tasks.length > 0)
      return { url: connection.url, ok: checks.every(({ ok }) => ok), checks, egress, jobs };
    for (const { name, network } of tested) {
      const job = await askTrainingJob(client, name, { ...connection, key: plan.shownKey });
      jobs[name] = job;
      const written = await environmentIn(plan.environmentsDir, name);
      if (written !== undefined) checks.push(...checkMemory(written), ...checkPool(written));
      const tried = await rowsOf(name, plan.environmentsDir, plan.rows);
      if (!(await namesItsImage(name, tried, plan.environmentsDir))) {
        checks.push(notTried(name, plan.only));
        continue;
      }
      const harmless = await harmlessAnswersOf(name, plan.environmentsDir);
      const seen = await checkEnvironment({ client, environment: name, job, harmless }, tried, run);
      checks.push(...seen);
      if (seen.some(couldNotStart)) continue;
      if (written === undefined && plan.rows.given === null)
        checks.push(madeUpRow(name, plan.environmentsDir));
      played.push(name);
      const item = tried[0]?.item ?? {};
      const rolloutId = `${run}-${name}-writable`;
      checks.push(await checkWritable({ client, environment: name, item, rolloutId }));
      checks.push(await checkShared({ client, environment: name, item, rolloutId: `${run}-${name}-shared` }));
      egress[name] = null;
      if (plan.forbidden === null) continue;
      const under = { client, environment: name, network, item, rolloutId: `${run}-${name}-egress` };
      const looked = await checkEgress({ ...under, targets: plan.forbidden });
      checks.push(looked.check);
      egress[name] = looked.egress;
    }
    const [first] = played;
    if (first !== undefined) checks.push(...(await checkWayTo(client, first, run, plan)));
    return { url: connection.url, ok: checks.every(({ ok }) => ok), checks, egress, jobs };
  });
}

/** On one machine requests count for nothing, and preflight does not see where the fleet runs. */
function checkMemory({ name: environment, template: { memory } }: Environment): readonly Check[] {
  if (memory.requestBytes === memory.limitBytes) return [];
  const detail =
    'sandbox.memory requests less than its limit: on a cluster, a sandbox that is killed for memory is then discarded, because other sandboxes may have used up its node; next: write one amount';
  return [{ environment, what: 'memory', ok: true, detail, tookMs: 0 }];
}

/** How much of the pool one task may demand, if rows demand anything: above that it is refused when it is opened. */
export function checkPool(environment: Environment): readonly Check[] {
  const { name, demands, pool } = environment;
  if (demands === undefined) return [];
  const times = largestShare(environment);
  const bound = `pool.max is ${pool.max}`;
  const detail =
    times > 1
      ? `a task that demands more than ${times} times the amounts of the sandbox is refused: ${bound}`
      : `every task that demands more than the amounts of the sandbox is refused: ${bound}; next: raise pool.max`;
  return [{ environment: name, what: 'pool', ok: times > 1, detail, tookMs: 0 }];
}

/** A row that was made up knows no image where the environment allows none by its whole name. */
async function namesItsImage(environment: string, rows: readonly Row[], folder: string): Promise<boolean> {
  const template = (await environmentIn(folder, environment))?.template;
  if (template === undefined || !isOpenTemplate(template)) return true;
  const { field } = template.image;
  return rows.every(({ item }) => item[field] !== undefined);
}

/** Without the environment's file its rows are unknown, and a made-up row may lack what the environment needs. */
function madeUpRow(environment: string, folder: string): Check {
  const detail = `made up, because ${folder} has no valid file of this environment; next: name its folder with --environments, or rows with --items`;
  return { environment, what: 'a row', ok: true, detail, tookMs: 0 };
}

/** No fault among others; who asked for just this one must not take it for tried. */
function notTried(environment: string, only: string | undefined): Check {
  const detail =
    'not tried: its rows name their images, and no rows were given; next: corral preflight --items rows.jsonl';
  return { environment, what: 'an image', ok: only === undefined, detail, tookMs: 0 };
}

async function checkEnvironment(
  under: Omit<RowUnderTest, 'row' | 'traceId' | 'label'>,
  rows: readonly Row[],
  run: string,
): Promise<readonly Check[]> {
  const checks: Check[] = [];
  for (const [index, row] of rows.entries()) {
    const label = rows.length === 1 ? '' : `row ${index + 1}: `;
    const traceId = `${run}-${under.environment}-${index + 1}`;
    checks.push(...(await checkRow({ ...under, row, traceId, label })));
  }
  return checks;
}

async function checkWayTo(
  client: HttpClient,
  environment: string,
  run: string,
  { rows, environmentsDir, holdS }: PreflightPlan,
): Promise<readonly Check[]> {
  const [row] = await rowsOf(environment, environmentsDir, { ...rows, most: 1 });
  return checkWay({ client, environment, rolloutId: `${run}-way`, run, item: row?.item ?? {}, holdS });
}
