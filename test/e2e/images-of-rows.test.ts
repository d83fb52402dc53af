import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { busyboxRoot, scoredByTask } from '../support/busybox-root.ts';
import { expectFailure, toldNothingRan } from '../support/faces.ts';
import { type FleetOfTest, startFleetOfTest } from '../support/fleet.ts';

/** What stands in the file `task` of each root, and so is its score. */
const tasks = { a: 1, b: 2, c: 3 } as const;

let folder = '';
let corral: FleetOfTest;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'corral-rows-'));
  for (const [task, number] of Object.entries(tasks))
    await busyboxRoot(join(folder, 'tasks', task), `${number}\n`);
  const byRow = `{ from: item.image, allow: ["rootfs:${folder}/tasks/*"] }`;
  corral = await startFleetOfTest({
    environments: { tasks: scoredByTask('tasks', byRow), shell: scoredByTask('shell', 'host') },
  });
});
afterAll(async () => {
  await corral.stop();
  await rm(folder, { recursive: true });
});

const rowOf = (task: string) => ({ id: task, image: `rootfs:${folder}/tasks/${task}` });
const call = (trace: string, item: object) =>
  corral.rft.call({ trace, call: 'c1', command: 'cat /task', environment: 'tasks', item: { ...item } });

test('each row runs in the image that it names, is graded there, and a group shares one', async () => {
  const rows = (['a', 'b', 'a', 'b'] as const).map((task, index) => ({ task, trace: `of-${task}-${index}` }));
  const answers = await Promise.all(rows.map(({ trace, task }) => call(trace, rowOf(task))));
  expect(answers).toMatchObject(
    rows.map(({ task }) => ({ status: 200, body: { output: `${tasks[task]}\n` } })),
  );
  const grade = await corral.rft.grade({ trace: 'of-b-1', environment: 'tasks', item: rowOf('b') });
  expect(grade).toMatchObject({ status: 200, body: { score: tasks.b } });
});

test('a native rollout names it once, and later calls find its sandbox', async () => {
  await corral.native.open('native', 'tasks', rowOf('b'));
  expect(await corral.native.shell('native', 'c1', 'cat /task; echo kept > note')).toMatchObject({
    status: 200,
  });
  const second = await corral.native.shell('native', 'c2', 'cat note');
  expect(second).toMatchObject({ status: 200, body: { output: 'kept\n' } });
});

test('a rollout that reaches the grader without a call is graded in its row’s image', async () => {
  const grade = await corral.rft.grade({
    trace: 'uncalled',
    environment: 'tasks',
    item: rowOf('b'),
    sample: { output_text: '', output_tools: [] },
  });
  expect(grade).toMatchObject({ status: 200, body: { score: tasks.b } });
});

test('an announced row finds its sandbox ready', async () => {
  const items = [{ item: rowOf('c'), count: 1 }];
  const announced = await corral.native.post('/v1/prewarm', { environment: 'tasks', items });
  expect(announced).toMatchObject({ status: 202, body: { count: 1, templates: [expect.any(String)] } });
  const ready = async () => (await corral.fleet.sandboxes()).length;
  await expect.poll(ready, { timeout: 20_000 }).toBeGreaterThan(0);
  const answer = await call('announced', rowOf('c'));
  expect(answer).toMatchObject({ status: 200, body: { output: '3\n' } });
});

test('a Redis that has forgotten everything costs no row its sandbox, and another row is served', async () => {
  expect(await call('before', rowOf('a'))).toMatchObject({ status: 200 });
  const { pid } = await corral.sandboxOf('before');
  await corral.killPart('redis');
  const again = { trace: 'before', call: 'c2', command: 'cat /task', environment: 'tasks', item: rowOf('a') };
  expect(await corral.rft.call(again)).toMatchObject({ status: 200, body: { output: '1\n' } });
  expect(await corral.sandboxOf('before')).toMatchObject({ pid });
  expect(await call('after', rowOf('b'))).toMatchObject({ status: 200, body: { output: '2\n' } });
});

const refused = { blame: 'caller', admitted: 'no', retryable: false, tainted: false } as const;

test('a row without an image, or with one that is not allowed, is refused with what to do', async () => {
  const missing = {
    ...refused,
    code: 'item_missing',
    message: expect.stringContaining('send the whole row'),
  } as const;
  expectFailure(await call('nameless', { id: 'x' }), { ...missing, status: 500 });
  expectFailure(await corral.native.open('nameless', 'tasks', { id: 'x' }), { ...missing, status: 400 });

  const climbing = { id: 'x', image: `rootfs:${folder}/tasks/../../etc` };
  const foreign = { id: 'x', image: 'registry.example.com/other:1' };
  for (const [trace, item, words] of [
    ['climbing', climbing, 'neither an image reference nor rootfs:'],
    ['foreign', foreign, 'sandbox.image.allow'],
  ] as const) {
    const message = expect.stringContaining(words);
    expectFailure(await call(trace, item), { ...refused, code: 'invalid_request', status: 500, message });
  }
});

test('an image that does not start fails its own rollouts alone, and says why', async () => {
  await corral.native.open('gone', 'tasks', rowOf('not-there'));
  const request = { call_id: 'c1', name: 'shell', arguments: { command: 'true' } };
  const [asked, meanwhile] = await Promise.all([
    corral.native.post('/v1/rollouts/gone/calls?wait_s=300', request),
    call('meanwhile', rowOf('a')),
  ]);
  expect(meanwhile).toMatchObject({ status: 200 });
  expectFailure(asked, {
    ...toldNothingRan,
    code: 'start_failed',
    retryable: false,
    message: expect.stringContaining('failed to start'),
  });
});
