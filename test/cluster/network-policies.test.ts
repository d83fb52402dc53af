import { afterAll, beforeAll, expect, test } from 'vitest';
import { podFor } from '#src/adapters/kubernetes/pod/pod.ts';
import { loadCluster } from '#src/environments/load-cluster.ts';
import { sandboxId } from '#src/model/ids.ts';
import { podRequest } from '../fakes/pod-request.ts';
import { type AppliedFleet, applyFleet } from '../support/applied-fleet.ts';
import { kubectl, untilPodsAreAccepted } from '../support/kubectl.ts';

// Nodes of a test cluster enforce no policy: what is shown is that the API server has them, and whom they select.

const networks = `
networks:
  mirrors:
    egress: [{ cidr: 10.0.0.0/8, except: [10.1.0.0/16], ports: [3128, 53/udp] }]
`;

let applied: AppliedFleet;
beforeAll(async () => {
  applied = await applyFleet(`net-${process.pid}`, networks);
  await untilPodsAreAccepted(applied.namespace);
  await Promise.all([createPod('closed', 'none'), createPod('open', 'mirrors')]);
});
afterAll(() => applied[Symbol.asyncDispose]());

async function createPod(sandbox: string, network: string): Promise<void> {
  const { fleet } = applied;
  const settings = { ...(await loadCluster(applied.clusterFile)), fleet };
  const pod = podFor({ ...podRequest({ network }), sandbox: sandboxId(sandbox) }, settings);
  await kubectl(['create', '-f', '-'], JSON.stringify(pod));
}

type Policy = {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly podSelector: { readonly matchLabels?: Readonly<Record<string, string>> };
    readonly policyTypes: readonly string[];
    readonly ingress?: readonly object[];
    readonly egress?: readonly object[];
  };
};

const inNamespace = (...args: readonly string[]) => kubectl([...args, '-n', applied.namespace]);

async function policyNamed(name: string): Promise<Policy['spec']> {
  return (JSON.parse(await inNamespace('get', 'networkpolicy', name, '-o', 'json')) as Policy).spec;
}

async function podsSelectedBy({ podSelector: { matchLabels = {} } }: Policy['spec']) {
  const selector = Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`);
  const names = await inNamespace('get', 'pods', '-l', selector.join(','), '-o', 'name');
  return names.trim().split('\n').toSorted();
}

test('every sandbox is closed, but to the fleet’s own processes', async () => {
  const policy = await policyNamed(`${applied.fleet}-sandboxes`);
  expect(await podsSelectedBy(policy)).toEqual(['pod/closed', 'pod/open']);
  expect(policy.policyTypes).toEqual(['Ingress', 'Egress']);
  expect(policy.egress ?? []).toEqual([]);
  expect(policy.ingress).toEqual([
    {
      from: [
        expect.objectContaining({
          namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': applied.home } },
        }),
      ],
      ports: [{ protocol: 'TCP', port: 8911 }],
    },
  ]);
});

test('a network class opens what the operator wrote, for the sandboxes of that class', async () => {
  const policy = await policyNamed(`${applied.fleet}-network-mirrors`);
  expect(await podsSelectedBy(policy)).toEqual(['pod/open']);
  expect(policy.egress).toContainEqual({
    to: [{ ipBlock: { cidr: '10.0.0.0/8', except: ['10.1.0.0/16'] } }],
    ports: [
      { protocol: 'TCP', port: 3128 },
      { protocol: 'UDP', port: 53 },
    ],
  });
});

test('there is one policy for the namespace and one for each class, however many sandboxes there are', async () => {
  const names = await inNamespace('get', 'networkpolicies', '-o', 'name');
  expect(names.trim().split('\n')).toHaveLength(2);
});

test('the API server admits no pod to the sandboxes’ namespace that has more rights than a sandbox', async () => {
  const privileged = { name: 'p', image: 'i', securityContext: { privileged: true } };
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec: { containers: [privileged] } };
  const created = kubectl(
    ['create', '-n', applied.namespace, '--dry-run=server', '-f', '-'],
    JSON.stringify(pod),
  );
  await expect(created).rejects.toThrow(/violates PodSecurity "baseline/);
});

/** Rejects with the API server's reason. */
const admitted = (pod: object) => kubectl(['create', '--dry-run=server', '-f', '-'], JSON.stringify(pod));

test('where sandboxes run under one id, their namespace admits nothing but that', async () => {
  await using single = await applyFleet(`one-${process.pid}`, 'uid: single\n');
  const settings = { ...(await loadCluster(single.clusterFile)), fleet: single.fleet };
  await untilPodsAreAccepted(single.namespace);
  await admitted(podFor(podRequest(), settings));
  const twoIds = podFor(podRequest(), { ...settings, singleUid: false });
  await expect(admitted(twoIds)).rejects.toThrow(/violates PodSecurity "restricted/);
});
