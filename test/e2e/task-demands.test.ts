import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { busyboxRoot } from '#test/support/busybox-root.ts';
import { expectFailure } from '#test/support/faces.ts';
import { type JoinedFleet, joinSharedFleet } from '#test/support/shared-fleet.ts';

/** Holds so many bytes in memory at once, and prints how many. Without a line end `tail` must keep all of them. */
const hold = (mebibytes: number) => `head -c ${mebibytes * 1024 ** 2} /dev/zero | tail | wc -c`;
const held = `${700 * 1024 ** 2}\n`;

const demanding = (name: string, image: string, grader: string, poolMax = 64) => `
name: ${name}
sandbox:
  image: ${image}
  memory: { request: 64Mi, limit: 256Mi, from: item.memory }
  disk: 64Mi
  processes: 64
tools: { shell: { builtin: shell } }
grader:
  kind: command
  ${grader}
  on_exit: 0
  on_timeout: discard
  on_out_of_memory: discard
  on_broken: 0.125
pool: { max: ${poolMax}, min_ready: 0 }
`;

/** The grader needs as much as the task, and finds a file of the row's image. */
const holds = `[sh, -c, 'n=$(${hold(400)}); test "$n" = ${400 * 1024 ** 2} && cat /task > "$CORRAL_SCORE_FILE"']`;
const elsewhere = `grade_in: fresh
  artifacts: [answer]
  artifact_bytes: 64Ki
  on_artifacts: 0.25
  command: ${holds}`;

let folder = '';
let corral: JoinedFleet;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'corral-demands-'));
  await busyboxRoot(join(folder, 'one'), '0.5\n');
  const byRow = `{ from: item.image, allow: ["rootfs:${folder}/*"] }`;
  corral = await joinSharedFleet({
    demanding: demanding('demanding', 'host', 'command: ["true"]'),
    'small-pool': demanding('small-pool', 'host', 'command: ["true"]', 2),
    'demanding-rows': demanding('demanding-rows', byRow, elsewhere),
  });
});
afterAll(async () => {
  await corral.leave();
  await rm(folder, { recursive: true });
});

type Requires = Readonly<Record<string, unknown>>;
const open = (rollout: string, requires: Requires, item: object = { id: 'one' }) =>
  corral.native.post('/v1/rollouts', { rollout_id: rollout, environment: 'demanding', item, requires });
const exec = (rollout: string, command: string, call = 'c1') =>
  corral.native.post(`/v1/rollouts/${rollout}/exec`, { call_id: call, command });

describe('a task that demands 1 GiB in an environment of 256 MiB', () => {
  test.each([
    ['its trainer', { memory_bytes: 2 ** 30 }, { id: 'one' }],
    ['its row', {}, { id: 'one', memory: '1Gi' }],
  ])('gets it, if %s demands it', async (who, requires, item) => {
    const rollout = `by-${who.replace(' ', '-')}`;
    expect(await open(rollout, requires, item)).toMatchObject({ status: 201 });
    const answer = await exec(rollout, hold(700));
    expect(answer).toMatchObject({ status: 200, body: { stdout: held, oom_killed: false } });
  });

  test('runs out of memory at that limit by its own doing, and is scored', async () => {
    const item = { id: 'one', memory: '1Gi' };
    const call = { trace: 'above', call: 'c1', environment: 'demanding', item, command: hold(1_100) };
    expect(await corral.rft.call(call)).toMatchObject({
      status: 200,
      body: { output: expect.stringContaining('[out of memory') },
    });
    expect(await corral.rft.grade({ trace: 'above', environment: 'demanding', item })).toMatchObject({
      status: 200,
    });
  });

  test('keeps its sandbox, and its limit, over later calls', async () => {
    const item = { id: 'one', memory: '1Gi' };
    const call = { trace: 'again', environment: 'demanding', item };
    expect(await corral.rft.call({ ...call, call: 'c1', command: 'echo kept > note' })).toMatchObject({
      status: 200,
    });
    expect(await corral.rft.call({ ...call, call: 'c2', command: `cat note; ${hold(700)}` })).toMatchObject({
      body: { output: `kept\n${held}` },
    });
  });
});

test('a task that demands disk fills it without running out of memory, and then has no space left', async () => {
  expect(await open('files', { disk_bytes: 512 * 1024 ** 2 })).toMatchObject({ status: 201 });
  const written = await exec('files', 'head -c 400M /dev/zero > file && wc -c < file');
  expect(written).toMatchObject({ status: 200, body: { stdout: `${400 * 1024 ** 2}\n`, oom_killed: false } });
  const full = await exec('files', 'head -c 200M /dev/zero > more', 'c2');
  expect(full).toMatchObject({
    body: { oom_killed: false, stderr: expect.stringContaining('No space left on device') },
  });
});

test('a task that demands shared memory has it, and memory for it', async () => {
  expect(await open('shared', { shm_bytes: 512 * 1024 ** 2 })).toMatchObject({ status: 201 });
  const answer = await exec('shared', 'head -c 500M /dev/zero > /dev/shm/file && wc -c < /dev/shm/file');
  expect(answer).toMatchObject({ status: 200, body: { stdout: `${500 * 1024 ** 2}\n`, oom_killed: false } });
});

test('a task that demands nothing has the environment’s own limit', async () => {
  expect(await open('plain', {})).toMatchObject({ status: 201 });
  expect(await exec('plain', hold(700))).toMatchObject({ status: 200, body: { oom_killed: true } });
});

test('a grader elsewhere gets the image of the row and what the task demands', async () => {
  const item = { id: 'one', image: `rootfs:${folder}/one`, memory: '1Gi' };
  expect(await corral.native.open('graded', 'demanding-rows', item)).toMatchObject({ status: 201 });
  expect(await exec('graded', 'echo 1 > answer')).toMatchObject({ status: 200 });
  const graded = await corral.native.post('/v1/rollouts/graded/grade', { sample: {} });
  expect(graded).toMatchObject({ status: 200, body: { score: 0.5 } });
});

describe('before anything is started, a task is refused', () => {
  const refused = { blame: 'caller', admitted: 'no', retryable: false, tainted: false } as const;

  test('if no pool of its environment has room for it, with pool.max, on every face', async () => {
    const unmet = {
      ...refused,
      code: 'requirements_unmet',
      message: expect.stringContaining('pool.max of small-pool is 2 sandboxes'),
    } as const;
    const item = { id: 'one', memory: '768Mi' };
    expectFailure(await corral.native.open('pool', 'small-pool', item), { ...unmet, status: 422 });
    const call = { trace: 'pool', call: 'c1', environment: 'small-pool', item, command: 'true' };
    expectFailure(await corral.rft.call(call), { ...unmet, status: 500 });
    const { gatewayUrl, apiKey } = inject('sharedFleet');
    const opened = await fetch(`${gatewayUrl}/e2b/v2/sandboxes`, {
      method: 'POST',
      headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
      body: JSON.stringify({ templateID: 'small-pool', metadata: item }),
    });
    expect([opened.status, await opened.json()]).toMatchObject([400, { error: { code: unmet.code } }]);
    const burst = { run: 'pool', environment: 'small-pool', items: [{ item, count: 1 }] };
    expectFailure(await corral.native.post('/v1/prewarm', burst), { ...unmet, status: 422 });
    // On one machine its disk takes memory, too: 448 MiB together.
    const smaller = { ...item, memory: '384Mi' };
    expect(await corral.native.open('pool-room', 'small-pool', smaller)).toMatchObject({ status: 201 });
  });

  test('if it demands more than the machine has, with what that is', async () => {
    const unmet = {
      ...refused,
      code: 'requirements_unmet',
      message: expect.stringMatching(/demands 4194304 MiB of memory, but one machine has \d+ MiB/),
      evidence: expect.objectContaining({ requirement: 'memory' }),
    } as const;
    expectFailure(await open('large', { memory_bytes: 2 ** 42 }), { ...unmet, status: 422 });
    const item = { id: 'one', memory: '4Ti' };
    const call = { trace: 'large', call: 'c1', environment: 'demanding', item, command: 'true' };
    expectFailure(await corral.rft.call(call), { ...unmet, status: 500 });
  });

  test.each([4096, '4096', '4GB'])('if its row says %j, which is no amount with its unit', async (memory) => {
    expectFailure(await open(`unit-${memory}`, {}, { id: 'one', memory }), {
      ...refused,
      status: 400,
      code: 'invalid_request',
      message: expect.stringContaining('not an amount with its unit'),
    });
  });

  test('if its row is missing', async () => {
    const body = { rollout_id: 'rowless', environment: 'demanding' };
    expectFailure(await corral.native.post('/v1/rollouts', body), {
      ...refused,
      status: 400,
      code: 'item_missing',
      message: expect.stringContaining('send the whole row'),
    });
  });
});
