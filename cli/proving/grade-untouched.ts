import { Type } from 'typebox';
import type { Item } from '#src/model/grader.ts';
import { GradeAnswer } from '#src/protocol/native/calls.ts';
import { askNative, type HttpClient } from '../gateway/http-client.ts';
import { sampleOf } from './training-job.ts';

export type UntouchedRollout = {
  readonly client: HttpClient;
  readonly environment: string;
  readonly item: Item;
  readonly rolloutId: string;
};

/**
 * Grades an answer where nothing was done, on the face that says how the score came about: nobody can have broken the
 * grader there, so a bad ending that the environment gives a score (`broken`) is the grader's own.
 */
export async function gradeUntouched(
  { client, environment, item, rolloutId }: UntouchedRollout,
  answer: string,
): Promise<{ readonly score: number; readonly broken: string | null }> {
  const send = { method: 'POST', deadlineMs: 600_000 } as const;
  const opening = { rollout_id: rolloutId, environment, item };
  await askNative(client, { ...send, path: '/v1/rollouts', body: opening }, Type.Object({}));
  const path = `/v1/rollouts/${encodeURIComponent(rolloutId)}`;
  const body = { sample: sampleOf(answer, []) };
  const graded = { ...send, path: `${path}/grade?wait_s=540`, body };
  const { score, detail } = await askNative(client, graded, GradeAnswer);
  await client.send({ method: 'POST', path: `${path}/finish` });
  const broken = detail['suspected'] === undefined ? null : JSON.stringify(detail).slice(0, 400);
  return { score, broken };
}
