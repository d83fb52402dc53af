import { systemRandom } from '#src/platform/random.ts';
import { EnvironmentsAnswer } from '#src/protocol/native/environments.ts';
import { CommandError } from '../command-error.ts';
import type { Connection } from '../gateway/connection.ts';
import { askNative, createHttpClient, type HttpClient } from '../gateway/http-client.ts';
import type { Stage } from './play.ts';
import { askTrainingJob } from './training-job.ts';

/** What is played on one environment, in a run of its own, so that rollouts of a proof never become training data. */
export type Proof = Stage & { readonly environment: string; readonly run: string };

/** Lets `work` play on an environment, and takes its run away afterwards. */
export async function onStage<Result>(
  connection: Connection,
  { environment, purpose }: { readonly environment: string; readonly purpose: string },
  work: (proof: Proof) => Promise<Result>,
): Promise<Result> {
  return inOwnRun(connection, purpose, async (client, run) => {
    await environmentsOf(client, environment);
    const job = await askTrainingJob(client, environment, connection);
    if (job.grader !== null) return work({ client, job, environment, run });
    throw new CommandError(
      `${environment} is graded by its trainer (grader: {kind: none})`,
      'yours',
      'use your own grader: only it has the score',
    );
  });
}

/** A run that is deleted whatever happens. */
export async function inOwnRun<Result>(
  connection: Connection,
  purpose: string,
  work: (client: HttpClient, run: string) => Promise<Result>,
): Promise<Result> {
  const run = `${purpose}-${systemRandom.text(8)}`;
  const client = createHttpClient({ ...connection, run });
  try {
    return await work(client, run);
  } finally {
    await client.send({ method: 'DELETE', path: `/v1/runs/${run}` }).catch(() => undefined);
    await client.close();
  }
}

/** The environments that are there, or only one; that it is not there is the caller's mistake. */
export async function environmentsOf(client: HttpClient, only: string | undefined) {
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
