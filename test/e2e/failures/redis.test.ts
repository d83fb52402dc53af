import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { stateFolderAt } from '#cli/fleet/state-folder.ts';
import { expectFailure, toldNothingRan } from '#test/support/faces.ts';
import { type FleetOfTest, shellEnvironment, startFleetOfTest } from '#test/support/fleet.ts';
import { partPid } from '#test/support/parts-of-fleet.ts';

let corral: FleetOfTest;
beforeAll(async () => {
  corral = await startFleetOfTest({ environments: { shell: shellEnvironment } });
});
afterAll(() => corral.stop());

const viewOf = (rollout: string) => corral.native.get(`/v1/rollouts/${rollout}`);
const pidOf = (part: 'redis' | 'controller') => partPid(corral.fleet.stateDir, part);

test('a Redis that answers nobody: 503 for who does not wait, and nothing is lost by it', async () => {
  expect((await corral.rft.call({ trace: 'silent', call: 'c1', command: 'echo hi' })).status).toBe(200);
  process.kill(pidOf('redis'), 'SIGSTOP');
  const told = await viewOf('silent');
  process.kill(pidOf('redis'), 'SIGCONT');
  expectFailure(told, { ...toldNothingRan, code: 'state_unavailable', rollout_id: 'silent' });
  await expect.poll(async () => (await viewOf('silent')).status).toBe(200);
});

test('a Redis that was emptied, until a controller has written the fleet back: 503, then everything is as it was', async () => {
  expect((await corral.rft.call({ trace: 'emptied', call: 'c1', command: 'echo hi' })).status).toBe(200);
  const controller = pidOf('controller');
  process.kill(controller, 'SIGSTOP');
  await corral.killPart('redis');
  await expect.poll(async () => codeOf(await viewOf('emptied'))).toBe('recovering');
  const told = await viewOf('emptied');
  process.kill(controller, 'SIGCONT');
  expectFailure(told, { ...toldNothingRan, code: 'recovering' });
  await expect
    .poll(() => viewOf('emptied'), { timeout: 30_000 })
    .toMatchObject({
      status: 200,
      body: { state: 'active', calls: [{ call_id: 'c1' }] },
    });
});

test('a record that somebody’s hand has broken: 500 on both faces, ours, and never an answer', async () => {
  const trace = 'broken';
  expect((await corral.rft.call({ trace, call: 'c1', command: 'echo hi' })).status).toBe(200);
  const redis = new Redis(stateFolderAt(corral.fleet.stateDir).redisSocket);
  const [record = ''] = await redis.keys(`*:rollout:*/${trace}/*`);
  await redis.rename(record, 'aside');
  await redis.set(record, 'no hash');
  const bug = {
    ...toldNothingRan,
    status: 500,
    code: 'unclassified',
    retryable: false,
    admitted: 'unknown',
  } as const;
  expectFailure(await viewOf(trace), bug);
  expectFailure(await corral.rft.call({ trace, call: 'c2', command: 'echo hi' }), bug);
  expectFailure(await corral.rft.grade({ trace }), bug);
  await redis.rename('aside', record);
  redis.disconnect();
  expect(await corral.rft.grade({ trace })).toMatchObject({ status: 200, body: { score: 1 } });
});

const codeOf = ({ body }: { readonly body: unknown }) =>
  (body as { readonly error?: { readonly code: string } }).error?.code;
