import { afterAll, beforeAll, expect, test } from 'vitest';
import { run } from '#infra/cluster/machine/run.ts';
import {
  type ClusterFleetOfTest,
  type HeldPod,
  podEnvironment,
  podResources,
  startClusterFleetOfTest,
} from '#test/support/cluster-fleet.ts';
import { killSandboxd } from '#test/support/cluster-provider.ts';
import { eventually } from '#test/support/eventually.ts';
import { type PodRollouts, rolloutsOf } from '#test/support/pod-rollouts.ts';

/** Who ended a sandbox, as the cluster tells it, and what the trainer is told. */
const image = 'image: "corral.local/bare:dev"';
const environments = {
  shell: podEnvironment('shell', { pool: '{ min_ready: 4, max: 20 }' }),
  rooted: podEnvironment('rooted', { sandbox: `${image}, run_as: root, ${podResources}` }).replace(
    'kind: command,',
    'kind: command, grade_in: fresh, artifacts: [log], on_artifacts: 0,',
  ),
  together: podEnvironment('together', {
    sandbox: `${image}, ${podResources}, node_selector: { kubernetes.io/hostname: n1 }`,
  }),
  small: podEnvironment('small', {
    timeout: '120s',
    sandbox: `${image}, cpu: { request: 10m, limit: "1" }, memory: 80Mi, disk: 32Mi`,
  }),
};

let corral: ClusterFleetOfTest;
beforeAll(async () => {
  corral = await startClusterFleetOfTest({ name: 'ends', environments });
});
afterAll(() => corral.stop());

const shell = rolloutsOf(() => corral, 'shell');
const small = rolloutsOf(() => corral, 'small');
const rooted = rolloutsOf(() => corral, 'rooted');
const together = rolloutsOf(() => corral, 'together');

const said = (text: string) => ({ status: 200, body: { output: expect.stringContaining(text) as string } });
const holdsSandbox = { epoch: { sandbox: expect.any(String) as string } };

/** The policy has to answer for it: text now and later, no taint, and the score that its environment gives for it. */
async function expectItsOwnDoing(rollouts: PodRollouts, trace: string): Promise<void> {
  expect(await rollouts.call(trace, 'later')).toMatchObject(said('Nothing ran'));
  await rollouts.expectScored(trace, 0);
}

/** All of its processes at once, as its runtime can. */
async function killContainer({ sandbox, node: name }: HeldPod): Promise<void> {
  const path = '{.status.containerStatuses[0].containerID}';
  const [, id = ''] = (await corral.kubectl(['get', 'pod', sandbox, `--output=jsonpath=${path}`])).split(
    '//',
  );
  const socket = corral.cluster.nodes.find((node) => node.name === name)?.containerdSocket ?? '';
  await run([
    'ctr',
    '--address',
    socket,
    '--namespace',
    'k8s.io',
    'tasks',
    'kill',
    '--all',
    '--signal',
    'SIGKILL',
    id,
  ]);
}

test.concurrent('a container killed by its runtime while a command runs: 503, it may have run, the rollout is discarded', async () => {
  const busy = await shell.running('container');
  await killContainer(busy);
  await shell.expectLostInFlight(busy, 'sandboxd_killed');
});

test.concurrent('two containers of one node killed in the same second: neither rollout acquits the other, both discards are marked', async () => {
  const both = await Promise.all(['pair-1', 'pair-2'].map((trace) => together.running(trace)));
  expect(both.map(({ node }) => node)).toEqual(['n1', 'n1']);
  await Promise.all(both.map(killContainer));
  for (const busy of both) {
    await together.expectLostInFlight(busy, 'sandboxd_killed');
    expect(await together.view(busy.trace)).toMatchObject({ verdict: { suspected: 'command' } });
  }
});

test.concurrent('sandboxd killed from outside while a command runs: 503 at once, it may have run, the rollout is discarded', async () => {
  const busy = await shell.running('killed');
  await killSandboxd(busy.sandbox);
  await shell.expectLostInFlight(busy, 'sandboxd_killed');
});

test.concurrent('sandboxd killed before the first call: another pod takes its place and nobody notices', async () => {
  // A rollout that nobody waits for is given nothing: it is opened until one is ready.
  await eventually(async () => (await corral.native.open('swapped')).body, holdsSandbox);
  await killSandboxd((await corral.podOf('swapped')).sandbox);
  expect(await shell.call('swapped', 'c1')).toMatchObject(said('ran\n'));
  await shell.expectScored('swapped', 1);
});

test.concurrent('a pod deleted by somebody else while a command runs: 503, it may have run, the rollout is discarded', async () => {
  const busy = await shell.running('deleted');
  await corral.kubectl(['delete', 'pod', busy.sandbox, '--wait=false']);
  await shell.expectLostInFlight(busy, 'deleted');
});

test.concurrent('a pod deleted by force between two calls: the rollout is discarded', async () => {
  expect(await shell.call('forced', 'c1')).toMatchObject(said('ran\n'));
  const { sandbox } = await corral.podOf('forced');
  await corral.kubectl(['delete', 'pod', sandbox, '--force', '--grace-period=0']);
  await shell.expectLost('forced', 'deleted');
});

test.concurrent('a pod evicted through the API while a command runs: 503, it may have run, the rollout is discarded', async () => {
  const busy = await shell.running('evicted');
  await corral.evict(busy.sandbox);
  await shell.expectLostInFlight(busy, 'evicted');
});

test.concurrent('a command that takes too much memory dies alone: text for the model, the sandbox stays and is scored', async () => {
  expect(await small.call('small_alone', 'c1', 'tail /dev/zero')).toMatchObject(said('out of memory'));
  expect(await small.call('small_alone', 'c2')).toMatchObject(said('ran\n'));
  await small.expectScored('small_alone', 1);
});

test.concurrent('a command that takes the whole container’s memory: the model’s, 200 now and later, and it is graded', async () => {
  let told = '';
  // What it wrote stays in memory when it dies; in the end the kernel has only the daemon left to take. No file may be larger than the disk.
  const fill = 'for part in 1 2 3; do cat /dev/zero > /dev/shm/full-$part; done';
  for (let tries = 0; tries < 30 && !told.includes('went down'); tries += 1) {
    const answer = await small.call('small_down', `fill-${tries}`, fill);
    expect(answer.status).toBe(200);
    told = (answer.body as { readonly output: string }).output;
  }
  expect(told).toContain('went down while this command ran (a command used up all of its memory)');
  await expectItsOwnDoing(small, 'small_down');
});

test.concurrent('a command that fills the disk past its limit: the kubelet evicts the pod, and it is the model’s doing', async () => {
  const fill = 'for part in 1 2 3; do dd if=/dev/zero of=big-$part bs=1M count=30; done; sleep 110';
  const answer = small.call('small_disk', 'c1', fill);
  expect(await answer).toMatchObject(said('(a command filled its disk)'));
  await expectItsOwnDoing(small, 'small_disk');
});

test.concurrent('a command that kills sandboxd, where it runs as root: the model’s, 200 now and later, and it is graded', async () => {
  expect(await rooted.call('rooted', 'c1', 'kill -9 -1; sleep 50')).toMatchObject(
    said('(a command killed the process that runs commands)'),
  );
  await expectItsOwnDoing(rooted, 'rooted');
});
