import { randomUUID } from 'node:crypto';
import { expect, inject, test } from 'vitest';
import { exitCodes } from '#cli/command-error.ts';
import { runCorral } from '#test/support/command-line.ts';
import { expectFailure } from '#test/support/faces.ts';
import { sharedFleet } from '#test/support/shared-fleet.ts';

const corral = sharedFleet();
const run = `voids-${randomUUID()}`;
const inRun = { 'x-corral-run': run };

const voided = {
  code: 'voided',
  blame: 'caller',
  admitted: 'no',
  retryable: false,
  tainted: false,
} as const;

async function command(...args: readonly string[]) {
  const { gatewayUrl, apiKey } = inject('sharedFleet');
  const ran = await runCorral([...args, '--url', gatewayUrl, '--key', apiKey, '--json']);
  return { ...ran, report: () => JSON.parse(ran.printed) as unknown };
}

async function graded(trace: string, item: string, answer: string): Promise<void> {
  const row = { id: item, answer: '42' };
  const grade = { trace, item: row, sample: { output_text: answer } };
  expect((await corral.rft.grade(grade, inRun)).status).toBe(200);
}

test('a voided rollout is a discard on every face, and its sandbox is released', async () => {
  const opening = { rollout_id: 'broken-task', environment: 'shell' };
  await corral.native.post('/v1/rollouts', opening, inRun);
  const call = { trace: 'broken-task', call: 'c1', command: 'echo hi' };
  expect((await corral.rft.call(call, inRun)).status).toBe(200);

  const path = '/v1/rollouts/broken-task/void';
  const answer = await corral.native.post(path, { reason: 'the tests are wrong' }, inRun);
  expect(answer).toMatchObject({
    status: 200,
    body: { state: 'closed', closed_by: 'voided', verdict: { kind: 'discard', code: 'voided' } },
  });
  const late = await corral.rft.call({ ...call, call: 'c2' }, inRun);
  expectFailure(late, { ...voided, status: 503, rollout_id: 'broken-task', call_id: 'c2' });
  const grade = await corral.native.post('/v1/rollouts/broken-task/grade', {}, inRun);
  expectFailure(grade, { ...voided, status: 409 });
  const repeat = await corral.rft.call(call, inRun);
  expectFailure(repeat, { ...voided, status: 503, admitted: 'yes', call_id: 'c1' });
});

test('corral void: a score stays as it was reported, and no report counts it', async () => {
  // An open rollout keeps the wave of its group open.
  const opening = { rollout_id: 'open', environment: 'shell', item: { id: 'task-1', answer: '42' } };
  await corral.native.post('/v1/rollouts', opening, inRun);
  await graded('right', 'task-1', '42');
  await graded('wrong', 'task-1', 'no');
  const mean = async () => {
    const { body } = await corral.native.get(`/v1/runs/${run}`, inRun);
    return (body as { groups: readonly { item: string; mean: number | null }[] }).groups.find(
      ({ item }) => item === 'task-1',
    )?.mean;
  };
  expect(await mean()).toBe(0.5);

  const done = await command('void', 'wrong', '--run', run, '--reason', 'the row is wrong');
  expect(done.exitCode).toBe(exitCodes.done);
  expect(done.report()).toEqual({ rollout: 'wrong', verdict: 'scorable, voided', score: 0 });
  expect(await mean()).toBe(1);
  const again = await corral.rft.grade({ trace: 'wrong', item: { id: 'task-1', answer: '42' } }, inRun);
  expect(again).toMatchObject({ status: 200, body: { score: 0 } });
  expect((await command('rollout', 'wrong', '--run', run)).report()).toMatchObject({
    score: 0,
    voidReason: 'the row is wrong',
  });
  expect((await command('run', run)).report()).toMatchObject({ scored: 1, voided: 1 });
});

test('corral void --item: every rollout of the item, open or scored', async () => {
  await graded('first', 'task-9', '42');
  const opening = { rollout_id: 'second', environment: 'shell', item: { id: 'task-9', answer: '42' } };
  await corral.native.post('/v1/rollouts', opening, inRun);
  const done = await command('void', '--item', 'task-9', '--run', run, '--reason', 'its truth was leaked');
  expect(done.report()).toEqual({ discarded: 1, scored: 1, unchanged: 0 });
  const events = await corral.native.get(`/v1/runs/${run}/events`, inRun);
  expect(events.body).toContain('"reason":"its truth was leaked"');

  const unknown = await command('void', '--item', 'task-0', '--run', run, '--reason', 'none');
  expect(unknown.exitCode).toBe(exitCodes.yours);
  expect(unknown.said).toContain('has no rollout of the item task-0');
});

test('corral void refuses an unknown rollout, and what is not clear', async () => {
  const unknown = await command('void', 'no-such-rollout', '--run', run, '--reason', 'none');
  expect(unknown).toMatchObject({ exitCode: exitCodes.yours });
  const both = await command('void', 'right', '--item', 'task-1', '--run', run, '--reason', 'none');
  expect(both.said).toContain('give a rollout, or --item and --run');
});
