import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type ClusterFleetOfTest,
  podEnvironment,
  podResources,
  startClusterFleetOfTest,
} from '#test/support/cluster-fleet.ts';
import { expectFailure, toldNothingRan } from '#test/support/faces.ts';

const byRow = '{ from: item.image, allow: ["corral.local/*"] }';
const tasks = podEnvironment('tasks', {
  sandbox: `image: ${byRow}, ${podResources}, start_timeout: 20s`,
  pool: '{ max: 8 }',
});

let corral: ClusterFleetOfTest;
beforeAll(async () => {
  corral = await startClusterFleetOfTest({ name: 'rows', environments: { tasks } });
});
afterAll(() => corral.stop());

const call = (trace: string, image: string) =>
  corral.rft.call({
    trace,
    call: 'c1',
    command: 'echo ran >> log; cat log',
    environment: 'tasks',
    item: { id: trace, image },
  });

test('a row whose image no node can pull fails alone; rows with another run in pods of theirs', async () => {
  await corral.native.open('missing', 'tasks', { id: 'missing', image: 'corral.local/never:1' });
  const asked = { call_id: 'c1', name: 'shell', arguments: { command: 'true' } };
  const [missing, ...served] = await Promise.all([
    corral.native.post('/v1/rollouts/missing/calls?wait_s=30', asked),
    call('one', 'corral.local/bare:dev'),
    call('two', 'corral.local/bare:dev'),
  ]);
  for (const answer of served) expect(answer).toMatchObject({ status: 200, body: { output: 'ran\n' } });
  expectFailure(missing, {
    ...toldNothingRan,
    code: 'image_unavailable',
    message: expect.stringContaining('corral.local/never:1'),
  });
  const { sandbox } = await corral.podOf('one');
  const image = '--output=jsonpath={.spec.containers[0].image}';
  expect(await corral.kubectl(['get', 'pod', sandbox, image])).toBe('corral.local/bare:dev');
});

test('a row whose image is not allowed gets no pod', async () => {
  expectFailure(await call('foreign', 'registry.example.com/task:1'), {
    status: 500,
    code: 'invalid_request',
    blame: 'caller',
    admitted: 'no',
    retryable: false,
    tainted: false,
    message: expect.stringContaining('the environment allows corral.local/*'),
  });
  const images = '--output=jsonpath={.items[*].spec.containers[0].image}';
  expect(await corral.kubectl(['get', 'pods', images])).not.toContain('registry.example.com');
});
