import { Value } from 'typebox/value';
import { ErrorAnswer } from '#src/protocol/native/parts.ts';
import type { HttpAnswer, HttpClient } from '../gateway/http-client.ts';
import type { Row } from '../proving/rows.ts';
import type { TrainingJob } from '../proving/training-job.ts';
import { type Check, tryOut } from './check.ts';

export type RowUnderTest = {
  readonly client: HttpClient;
  readonly environment: string;
  readonly job: TrainingJob;
  /** Answers to which the environment's judges must have a score, whatever they refuse. */
  readonly harmless: readonly string[];
  readonly row: Row;
  /** Distinguishes this row's rollouts from all others. */
  readonly traceId: string;
  /** Stands before what was tried, `row 3: `; empty for the only one. */
  readonly label: string;
};

const whatStarts = 'a sandbox';

/** Beyond the wait in line, for the answer itself. */
const deadlineMs = 330_000;

type StartUnderTest = Pick<RowUnderTest, 'client' | 'environment' | 'row' | 'traceId' | 'label'>;

/**
 * Whether sandboxes of the row can start, asked on the face that answers as soon as that is known. The one of training jobs
 * holds each request for minutes, because the cause may be fixed meanwhile. It also names a task that demands more than there is.
 * Every other trouble is left to the checks that follow.
 */
export function checkStart({ client, environment, row, traceId, label }: StartUnderTest): Promise<Check> {
  const id = `${traceId}-start`;
  const path = `/v1/rollouts/${encodeURIComponent(id)}`;
  const opening = { rollout_id: id, environment, item: row.item };
  const command = { call_id: 'start', argv: ['true'] };
  return tryOut(environment, `${label}${whatStarts}`, async () => {
    const opened = await client.send({ method: 'POST', path: '/v1/rollouts', body: opening });
    const unmet = whyUnmet(opened);
    if (unmet !== null) return { ok: false, detail: `${nameTask(row)}${unmet}` };
    const answer = await client.send({ method: 'POST', path: `${path}/exec`, body: command, deadlineMs });
    await client.send({ method: 'DELETE', path });
    const why = whyNoneStarts(answer);
    return { ok: why === null, detail: why ?? 'starts' };
  });
}

/** Nothing else of its environment can be tried then. */
export const couldNotStart = ({ what, ok }: Check): boolean => !ok && what.endsWith(whatStarts);

function nameTask({ item: { id } }: Row): string {
  return typeof id === 'string' || typeof id === 'number' ? `task ${id}: ` : '';
}

function whyUnmet({ status, body }: HttpAnswer): string | null {
  const answer: unknown = JSON.parse(status === 422 && body.startsWith('{') ? body : 'null');
  if (!Value.Check(ErrorAnswer, answer)) return null;
  const { message, code } = answer.error;
  return `${message} (${code})`;
}

function whyNoneStarts({ status, body }: HttpAnswer): string | null {
  const answer: unknown = JSON.parse(status === 503 && body.startsWith('{') ? body : 'null');
  if (!Value.Check(ErrorAnswer, answer)) return null;
  const { evidence, message, code } = answer.error;
  return evidence['starts_failed'] === undefined ? null : `${message} (${code})`;
}
