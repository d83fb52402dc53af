import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectFailure, toldNothingRan } from '#test/support/faces.ts';
import { type FleetOfTest, startFleetOfTest } from '#test/support/fleet.ts';

const environment = (name: string, sandbox: string) => `
name: ${name}
sandbox: ${sandbox}
tools: { shell: { builtin: shell, timeout: 8m } }
grader: { kind: text, reference: item.answer }
pool: { min_ready: 0, max: 2 }
`;

/** Its folders are removed when the fleet has read its environments: a fleet that starts without them says so and ends. */
let folder = '';
const corpus = () => join(folder, 'corpus');

let corral: FleetOfTest;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'corral-removed-'));
  for (const name of ['root', 'corpus', 'under']) await mkdir(join(folder, name));
  corral = await startFleetOfTest({
    environments: {
      unprepared: environment(
        'unprepared',
        '{ image: host, prepare: [[sh, -c, "echo no index at $(date +%N) >&2; exit 4"]] }',
      ),
      rootless: environment('rootless', `{ image: "rootfs:${join(folder, 'root')}" }`),
      corpusless: environment(
        'corpusless',
        `{ image: host, data: [{ source: "${corpus()}", target: /data }] }`,
      ),
      unmountable: environment(
        'unmountable',
        `{ image: host, data: [{ source: "${join(folder, 'under')}", target: /usr/bin/env/data }] }`,
      ),
    },
  });
  for (const name of ['root', 'corpus']) await rm(join(folder, name), { recursive: true });
});
afterAll(async () => {
  await corral.stop();
  await rm(folder, { recursive: true });
});

const call = { call_id: 'c1', name: 'shell', arguments: { command: 'cat /data/page' } };
const askFor = (rollout: string) => corral.native.post(`/v1/rollouts/${rollout}/calls?wait_s=300`, call);

const cases = [
  ['its preparation fails', 'unprepared', 'setup_failed', 'exit code 4: no index'],
  ['its root folder does not exist', 'rootless', 'start_failed', "the sandbox's root of this template"],
  ['a data folder does not exist', 'corpusless', 'start_failed', 'a data folder of this template'],
  ['a data folder cannot be mounted', 'unmountable', 'start_failed', 'cannot be mounted'],
] as const;

test.concurrent.each(cases)(
  'a request whose sandbox cannot start because %s gets the reason after three sandboxes',
  async (_why, name, code, words) => {
    await corral.native.open(name, name);
    const answer = await askFor(name);
    expectFailure(answer, {
      ...toldNothingRan,
      code,
      retryable: false,
      rollout_id: name,
      message: expect.stringMatching(new RegExp(`^3 sandboxes in a row failed to start.*${words}`)),
    });
  },
);

test('a folder that is there again serves the next rollout without a restart', async () => {
  await mkdir(corpus());
  await writeFile(join(corpus(), 'page'), 'the page');
  await corral.native.open('fixed', 'corpusless');
  const answer = await askFor('fixed');
  expect(answer).toMatchObject({ status: 200, body: { stdout: 'the page' } });
});

test('a waiting rollout shows the last failed start of its template', async () => {
  const held = corral.rft.call({ trace: 'held', call: 'c1', command: 'echo', environment: 'unprepared' });
  const waiting = async () => (await corral.native.get('/v1/rollouts/held')).body;
  await expect.poll(waiting, { timeout: 30_000 }).toMatchObject({
    state: 'waiting',
    waiting: {
      ahead: 0,
      last_start_failure: {
        code: 'setup_failed',
        message: expect.stringContaining('no index'),
        count: expect.any(Number),
      },
    },
  });
  await corral.native.delete('/v1/rollouts/held');
  expect((await held).status).toBe(503);
});
