import { mkdtemp, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Queue } from 'bullmq';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { stateFolderAt } from '#cli/fleet/state-folder.ts';
import { launchPlace } from '#src/adapters/bullmq/launch-queue.ts';
import { expectFailure, toldNothingRan } from '#test/support/faces.ts';
import { type FleetOfTest, startFleetOfTest } from '#test/support/fleet.ts';
import { impatientOnRft } from '#test/support/timings.ts';

const environment = (name: string, sandbox: string) => `
name: ${name}
sandbox: ${sandbox}
tools: { shell: { builtin: shell, timeout: 46s } }
grader: { kind: text, reference: item.answer }
pool: { min_ready: 0, max: 2 }
`;
/** Taken away once the fleet has read its environments; a fleet that starts without it says so and does not start. */
let rootfs = '';
const rootless = () => environment('rootless', `{ image: "rootfs:${rootfs}" }`);
const unprepared = environment(
  'unprepared',
  '{ image: host, prepare: [[sh, -c, "echo no index >&2; exit 4"]] }',
);
const slow = environment('slow', '{ image: host, prepare: [[sleep, "60"]], start_timeout: 1s }');

let corral: FleetOfTest;
beforeAll(async () => {
  rootfs = await mkdtemp(join(tmpdir(), 'corral-not-there-'));
  corral = await startFleetOfTest({
    environments: { rootless: rootless(), unprepared, slow },
    timings: impatientOnRft,
  });
  await rmdir(rootfs);
});
afterAll(() => corral.stop());

const cases = [
  ['its root folder is not there', 'rootless', 'start_failed', 'gone before it was ready', false],
  ['its preparation fails', 'unprepared', 'setup_failed', 'no index', false],
  ['it is not ready in time', 'slow', 'start_timeout', '1000 ms', true],
] as const;

/**
 * The native request ends with the third sandbox that fails alike, or when its time is over if the next sandbox may start. The
 * RFT one comes after it, so that a start has failed before it waits for what a command of 46 s leaves of 54 s: 7 s.
 */
test.concurrent.each(cases)(
  'a sandbox that does not start because %s: 503 on both faces, and it says so',
  async (_name, environment, code, words, mayPass) => {
    await corral.native.open(environment, environment);
    const call = { call_id: 'c1', name: 'shell', arguments: { command: 'echo' } };
    const native = await corral.native.post(
      `/v1/rollouts/${environment}/calls?wait_s=${mayPass ? 8 : 300}`,
      call,
    );
    const expected = { ...toldNothingRan, code, message: expect.stringContaining(words) };
    expectFailure(native, { ...expected, rollout_id: environment, retryable: mayPass });
    const held = await corral.rft.call({
      trace: `rft_${environment}`,
      call: 'c1',
      command: 'echo',
      environment,
    });
    expectFailure(held, { ...expected, rollout_id: `rft_${environment}` });
  },
);

test('a board shows each launch that failed: for which run, of which sandbox, at which step and by which code', async () => {
  const { queue, prefix } = launchPlace('local');
  const path = stateFolderAt(corral.fleet.stateDir).redisSocket;
  const board = new Queue(queue, { prefix, connection: { path } });
  await corral.native.open('board', 'unprepared');
  await expect
    .poll(async () => (await board.getFailed()).find((job) => job.failedReason.includes('no index')))
    .toMatchObject({
      name: 'unprepared',
      data: { sandbox: expect.any(String), reason: 'waiting', run: expect.stringMatching(/\/development$/) },
      progress: { step: 'prepare' },
      failedReason: expect.stringMatching(/^setup_failed: /),
    });
  await board.close();
});
