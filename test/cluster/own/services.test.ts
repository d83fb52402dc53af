import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { type Cluster, kubectl } from '#infra/cluster/api.ts';
import { importImages } from '#infra/cluster/images/import.ts';
import { startApiServer, stopApiServer } from '#infra/cluster/levers.ts';
import { inNamespace } from '#infra/cluster/machine/namespace.ts';
import { run } from '#infra/cluster/machine/run.ts';
import { buildImage } from '#infra/images/build.ts';
import { imageNames } from '#infra/images/catalogue.ts';
import { removePod } from '#test/support/busybox-pod.ts';
import { clusterOfTest } from '#test/support/cluster.ts';
import { untilClusterWorks } from '#test/support/cluster-works.ts';

/**
 * What a fleet in pods is built upon: Services by name and by NodePort, and other people's kinds. The pods are Redis, as
 * busybox is static and looks up no name.
 */
let cluster: Cluster;
beforeAll(async () => {
  cluster = await clusterOfTest();
  const { archive } = await buildImage('redis');
  await Promise.all(cluster.nodes.map((node) => importImages(cluster, node, [archive])));
  // On two nodes, so that every way leads from one node's rules to the other's pod.
  await Promise.all([createRedis('server', 'n1'), createRedis('client', 'n2')]);
  await expose('server');
});
afterAll(async () => {
  await kubectl(cluster, ['delete', 'service', '--selector=app=server']);
  await Promise.all(['server', 'client'].map((pod) => removePod(cluster, pod)));
});

async function createRedis(name: string, node: string): Promise<void> {
  const container = {
    name: 'redis',
    image: imageNames.redis,
    imagePullPolicy: 'Never',
    args: ['--save', '', '--protected-mode', 'no'],
    readinessProbe: { tcpSocket: { port: 6379 }, periodSeconds: 1 },
  };
  const nodeSelector = { 'kubernetes.io/hostname': node };
  const metadata = { name, labels: { app: name } };
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata, spec: { nodeSelector, containers: [container] } };
  await kubectl(cluster, ['create', '-f', '-'], JSON.stringify(pod));
  await kubectl(cluster, ['wait', '--for=condition=Ready', `pod/${name}`, '--timeout=40s']);
}

/** One more Service before the pod `server`, on a port on which the pod itself does not listen. */
async function expose(name: string): Promise<void> {
  const options = [`--name=${name}`, '--port=80', '--target-port=6379', '--type=NodePort'];
  await kubectl(cluster, ['expose', 'pod', 'server', ...options]);
}

const fieldOf = (service: string, path: string) =>
  kubectl(cluster, ['get', 'service', service, '-o', `jsonpath={${path}}`]);

/** What the pod `client` is answered, in words, for it may be that nobody is there. */
const pinged = (host: string, port = 80) =>
  kubectl(cluster, ['exec', 'client', '--', 'redis-cli', '-h', host, '-p', String(port), 'ping'])
    .catch((error: unknown) => String(error))
    .then((text) => text.trim());

test('a pod reaches a Service by its short name, its name and namespace, and its whole name', async () => {
  for (const name of ['server', 'server.default', 'server.default.svc.cluster.local']) {
    await expect.poll(() => pinged(name)).toBe('PONG');
  }
});

test('a pod reaches a Service by its address, and the pod behind it by its own', async () => {
  await expect.poll(async () => pinged(await fieldOf('server', '.spec.clusterIP'))).toBe('PONG');
  const address = await kubectl(cluster, ['get', 'pod', 'server', '-o', 'jsonpath={.status.podIP}']);
  expect(await pinged(address, 6379)).toBe('PONG');
});

test('a pod reaches the API server by the name that every pod is told', async () => {
  // It speaks TLS, and ends a connection on which somebody speaks plainly.
  expect(await pinged('kubernetes.default.svc', 443)).toMatch(/Protocol error|Server closed the connection/);
});

test('a name from outside of the cluster is not found, and nobody waits for it', async () => {
  const startedMs = performance.now();
  expect(await pinged('example.org')).toContain('Could not connect to Redis at example.org:80');
  // A name server that cannot be reached costs the resolver 5 s.
  expect(performance.now() - startedMs).toBeLessThan(4_000);
});

test('the hub reaches a Service by its NodePort, at every node', async () => {
  const port = Number(await fieldOf('server', '.spec.ports[0].nodePort'));
  for (const { address } of cluster.nodes) {
    await expect.poll(() => pingedFromHub(address, port)).toBe('+PONG');
  }
});

async function pingedFromHub(host: string, port: number): Promise<string> {
  const socket = connect(port, host);
  try {
    socket.end('PING\r\n');
    const [answer] = (await once(socket, 'data', { signal: AbortSignal.timeout(2_000) })) as [Buffer];
    return answer.toString().trim();
  } finally {
    socket.destroy();
  }
}

test('after an outage of the API server a new Service works', async () => {
  onTestFinished(() => untilClusterWorks(cluster));
  await stopApiServer(cluster);
  await startApiServer(cluster);
  await untilClusterWorks(cluster);
  await expose('later');
  await expect.poll(() => pinged('later'), { timeout: 20_000 }).toBe('PONG');
});

const rule = (expression: object) => ({
  apiVersion: 'monitoring.coreos.com/v1',
  kind: 'PrometheusRule',
  metadata: { name: 'tried' },
  spec: { groups: [{ name: 'tried', rules: [{ alert: 'Tried', ...expression }] }] },
});
const tried = (object: object) => {
  const strictly = ['apply', '--server-side', '--dry-run=server', '--validate=strict', '-f', '-'];
  return kubectl(cluster, strictly, JSON.stringify(object));
};

test("an object of an operator's kind is taken when it is right and refused by name when it is not", async () => {
  expect(await tried(rule({ expr: 'up == 0' }))).toContain('prometheusrule.monitoring.coreos.com/tried');
  await expect(tried(rule({ exprs: 'up == 0' }))).rejects.toThrow('exprs');
  const kinds = await kubectl(cluster, ['api-resources', '-o', 'name']);
  for (const kind of ['podmonitors', 'scaledobjects', 'httproutes']) expect(kinds).toContain(`${kind}.`);
});

test('helm stands beside kubectl and asks the cluster', async () => {
  const helm = [join(cluster.programs, 'helm'), `--kubeconfig=${cluster.kubeconfig}`, 'list', '-A', '-q'];
  expect(await run(inNamespace(cluster.hub, helm))).toBe('');
});
