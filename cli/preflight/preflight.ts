import { systemRandom } from '#src/platform/random.ts';
import { EnvironmentsAnswer } from '#src/protocol/native/environments.ts';
import { CommandError } from '../command-error.ts';
import type { Connection } from '../gateway/connection.ts';
import { createHttpClient, type HttpClient } from '../gateway/http-client.ts';
import { askNative } from '../gateway/native-client.ts';
import type { Check } from './check.ts';
import { checkRow, type RowUnderTest } from './check-row.ts';
import { checkWay } from './check-way.ts';
import { checkEgress } from './egress/check-egress.ts';
import type { Egress, Target } from './egress/judge-egress.ts';
import type { PreflightReport } from './report.ts';
import type { Row } from './rows.ts';
import { harmlessAnswersOf, rowsOf } from './rows-of.ts';
import { askTrainingJob, type TrainingJob } from './training-job.ts';
import { checkWritable } from './writable/check-writable.ts';

export type PreflightPlan = {
  /** Only this environment; undefined = all. */
  readonly only: string | undefined;
  /** Dataset rows to try; null = what each environment brings, see `rowsOf`. */
  readonly rows: readonly Row[] | null;
  /** Folder of environment files. */
  readonly environmentsDir: string;
  /** How long one request is held on its way; 0 = not at all. */
  readonly holdS: number;
  /** What no sandbox without a network may reach, beside its neighbours; null: whom it reaches is not tried. */
  readonly forbidden: readonly Target[] | null;
  /** What stands for the key in the printed job. */
  readonly shownKey: string;
};

/** Tries everything and tells what was seen; a failed check does not end it. */
export async function preflight(connection: Connection, plan: PreflightPlan): Promise<PreflightReport> {
  // Not the run of the job: rollouts of a preflight are nobody's training data.
  const run = `preflight-${systemRandom.text(8)}`;
  const client = createHttpClient({ ...connection, run });
  const checks: Check[] = [];
  const jobs: Record<string, TrainingJob> = {};
  const egress: Record<string, Egress | null> = {};
  try {
    const tested = await environmentsOf(client, plan.only);
    for (const { name, network } of tested) {
      const job = await askTrainingJob(client, name, { ...connection, key: plan.shownKey });
      jobs[name] = job;
      const tried = plan.rows ?? (await rowsOf(name, plan.environmentsDir));
      const harmless = await harmlessAnswersOf(name, plan.environmentsDir);
      checks.push(...(await checkEnvironment({ client, environment: name, job, harmless }, tried, run)));
      const item = tried[0]?.item ?? {};
      const rolloutId = `${run}-${name}-writable`;
      checks.push(await checkWritable({ client, environment: name, item, rolloutId }));
      egress[name] = null;
      if (plan.forbidden === null) continue;
      const looked = await checkEgress({
        client,
        environment: name,
        network,
        item,
        rolloutId: `${run}-${name}-egress`,
        targets: plan.forbidden,
      });
      checks.push(looked.check);
      egress[name] = looked.egress;
    }
    const [first] = tested;
    if (first !== undefined) checks.push(...(await checkWayTo(client, first.name, run, plan)));
  } finally {
    await client.send({ method: 'DELETE', path: `/v1/runs/${run}` }).catch(() => undefined);
    await client.close();
  }
  return { url: connection.url, ok: checks.every(({ ok }) => ok), checks, egress, jobs };
}

async function environmentsOf(client: HttpClient, only: string | undefined) {
  const path = '/v1/environments';
  const { environments } = await askNative(client, { method: 'GET', path }, EnvironmentsAnswer);
  const found = environments.filter(({ name }) => only === undefined || name === only);
  if (only === undefined || found.length > 0) return found;
  throw new CommandError(
    `there is no environment ${only}`,
    'yours',
    `there is: ${environments.map(({ name }) => name).join(', ')}`,
  );
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
  const [row] = rows ?? (await rowsOf(environment, environmentsDir));
  return checkWay({ client, environment, rolloutId: `${run}-way`, run, item: row?.item ?? {}, holdS });
}
