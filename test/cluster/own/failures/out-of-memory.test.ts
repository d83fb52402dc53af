import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { kubectl } from '#infra/cluster/api.ts';
import {
  type ClusterFleetOfTest,
  podEnvironment,
  startClusterFleetOfTest,
} from '#test/support/cluster-fleet.ts';

/** Whole containers that the kernel killed for memory: the pod tells the same, whoever lacked it. */
let corral: ClusterFleetOfTest;
beforeAll(async () => {
  const shell = podEnvironment('shell', { pool: '{ min_ready: 1, max: 4 }' });
  const overcommitted = podEnvironment('overcommitted', { pool: '{ min_ready: 1, max: 4 }' }).replace(
    'memory: 128Mi',
    'memory: { request: 32Mi, limit: 128Mi }',
  );
  corral = await startClusterFleetOfTest({ name: 'out-of-memory', environments: { shell, overcommitted } });
});
afterAll(() => corral.stop());

/** A rollout of this name is in the environment of the same name. */
const environmentOf = (trace: string) => (trace === 'overcommitted' ? trace : 'shell');
const call = (trace: string, id: string, command: string) =>
  corral.rft.call({ trace, call: id, command, environment: environmentOf(trace) });
const viewOf = async (trace: string) => (await corral.native.get(`/v1/rollouts/${trace}`)).body;

/** Makes the daemon the kernel's first choice, and then fills the memory from the background. */
async function killForMemory(trace: string): Promise<string> {
  expect(await call(trace, 'c1', 'true')).toMatchObject({ status: 200 });
  const { sandbox, node } = await corral.podOf(trace);
  writeFileSync(`/proc/${daemonOf(sandbox)}/oom_score_adj`, '1000');
  const hog = 'echo 0 > /proc/self/oom_score_adj; sleep 1; dd if=/dev/zero of=/dev/null bs=419430400 count=1';
  expect(await call(trace, 'c2', `(${hog}) > /dev/null 2>&1 & echo left`)).toMatchObject({ status: 200 });
  return node;
}

/** The nodes are this machine, so its processes are here; commands do not get the daemon's variables. */
function daemonOf(sandbox: string): number {
  const isOurs = (pid: string) => {
    try {
      return readFileSync(`/proc/${pid}/environ`, 'latin1').includes(`CORRAL_SANDBOX_ID=${sandbox}\0`);
    } catch {
      return false;
    }
  };
  const found = readdirSync('/proc').find((name) => /^\d+$/.test(name) && isOurs(name));
  if (found === undefined) throw new Error(`no process of ${sandbox} is on this machine`);
  return Number(found);
}

/** As a kubelet tells that its node had no memory left (`pkg/kubelet/oom/oom_watcher_linux.go`). */
async function tellOfShortage(node: string): Promise<void> {
  const now = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
  const event = {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { generateName: `${node}.`, namespace: 'default' },
    involvedObject: { kind: 'Node', name: node, uid: node },
    reason: 'SystemOOM',
    message: 'System OOM encountered, victim process: tail, pid: 4711',
    type: 'Warning',
    firstTimestamp: now,
    lastTimestamp: now,
    count: 1,
    source: { component: 'kubelet', host: node },
  };
  await kubectl(corral.cluster, ['create', '-f', '-'], JSON.stringify(event));
}

test('a command alone: text for the model, though it is its pod that met the limit and not its container', async () => {
  const greedy = 'dd if=/dev/zero of=/dev/null bs=419430400 count=1';
  expect(await call('alone', 'c1', greedy)).toMatchObject({
    status: 200,
    body: { output: expect.stringContaining('out of memory') },
  });
  expect(await call('alone', 'c2', 'echo usable')).toMatchObject({ body: { output: 'usable\n' } });
});

test('a whole container at its own limit: the model’s, 200 now and later, and it is graded', async () => {
  await killForMemory('own');
  await expect
    .poll(() => viewOf('own'), { timeout: 30_000 })
    .toMatchObject({ broken: 'a command used up all of its memory', taint: null });
  expect(await call('own', 'c3', 'echo later')).toMatchObject({ status: 200 });
  expect(await corral.rft.grade({ trace: 'own' })).toMatchObject({ status: 200, body: { score: 0 } });
});

test('a whole container that may use more than its node keeps for it: a discard with the mark, and never the model’s', async () => {
  await killForMemory('overcommitted');
  const verdict = { kind: 'discard', code: 'sandbox_lost', cause: 'sandboxd_killed', suspected: 'command' };
  await expect
    .poll(() => viewOf('overcommitted'), { timeout: 30_000 })
    .toMatchObject({ broken: null, verdict });
  const grade = { trace: 'overcommitted', environment: 'overcommitted' };
  expect(await corral.rft.grade(grade)).toMatchObject({ status: 503 });
});

test('a whole container as the node had no memory left: 503, and never the model’s', async () => {
  await tellOfShortage(await killForMemory('nodes'));
  await expect
    .poll(() => viewOf('nodes'), { timeout: 30_000 })
    .toMatchObject({
      broken: null,
      verdict: { kind: 'discard', code: 'sandbox_lost', cause: 'node_out_of_memory', suspected: 'command' },
    });
  expect(await corral.rft.grade({ trace: 'nodes' })).toMatchObject({ status: 503 });
});
