import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { home, render, type Rendered, valueSets } from '../support/helm.ts';
import { kubectl, untilPodsAreAccepted } from '../support/kubectl.ts';

// The API server's own word on everything that is rendered, without making it: fields that it does not know, values that it
// refuses, also of kinds that others define (KEDA, the Gateway API, the Prometheus operator).

/** Where each set's objects would be, with the Pod Security that it must do with. */
const places = {
  [home]: 'restricted',
  'rendered-sandboxes': 'baseline',
  'lab-rollouts': 'baseline',
  'research-rollouts': 'restricted',
};

beforeAll(async () => {
  for (const [name, level] of Object.entries(places)) {
    await kubectl(['apply', '-f', '-'], JSON.stringify(namespaceOf(name, level)));
    await untilPodsAreAccepted(name);
  }
});
afterAll(() => kubectl(['delete', 'namespaces', ...Object.keys(places), '--wait=false']));

/** A port of all nodes may be a fleet's that is installed beside. */
const noNodePort = ['--set', 'gateway.service.type=ClusterIP,gateway.service.nodePort=null'];

const namespaceOf = (name: string, level: string) => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, labels: { 'pod-security.kubernetes.io/enforce': level } },
});

const tryOut = (objects: readonly object[]): Promise<string> =>
  kubectl(
    ['apply', '--server-side', '--force-conflicts', '--dry-run=server', '--validate=strict', '-f', '-'],
    JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }),
  );

/** Without a namespace of its own an object belongs to the release's. */
const placed = ({ metadata, ...rest }: Rendered): object => {
  if (rest.kind !== 'ConfigMap') return { ...rest, metadata };
  return { ...rest, metadata: { namespace: home, ...metadata } };
};

type Pods = { readonly template?: { readonly metadata: object; readonly spec: object } };

/** What a Deployment, a StatefulSet or a Job would make: only of a pod itself does Pod Security say more than a warning. */
const podsOf = (objects: readonly Rendered[]): readonly object[] =>
  objects.flatMap(({ kind, metadata, spec }) => {
    const { template } = (spec ?? {}) as Pods;
    if (template === undefined) return [];
    const name = `${metadata.name}-${kind.toLowerCase()}`;
    const running = kind === 'Job' ? {} : { restartPolicy: 'Always' };
    // The account is not there in a trial.
    const { serviceAccountName: _account, ...pod } = template.spec as {
      readonly serviceAccountName?: string;
    };
    return [
      {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { ...template.metadata, name, namespace: home },
        spec: { ...running, ...pod },
      },
    ];
  });

describe.each(valueSets)('the API server, shown the %s values,', (set) => {
  test('takes every object, and knows every field of it', async () => {
    const objects = await render(set, ...noNodePort);
    const said = await tryOut(objects.map(placed));
    expect(said.trim().split('\n')).toHaveLength(objects.length);
  });

  test('admits every pod of the fleet’s own into a `restricted` namespace', async () => {
    const pods = podsOf(await render(set));
    expect(pods.length).toBeGreaterThan(2);
    const said = await tryOut(pods);
    expect(said.trim().split('\n')).toHaveLength(pods.length);
  });
});

test('a field that nobody knows is refused, so that what is taken above is known', async () => {
  const first = (await render('minimal')).find(({ kind }) => kind === 'Deployment');
  if (first === undefined) throw new TypeError('a Deployment');
  const spec = { ...(first['spec'] as object), replica: 3 };
  await expect(tryOut([{ ...first, spec }])).rejects.toThrow(/replica/);
});

test('a pod that asks for more is not admitted, so that what is admitted above asks for no more', async () => {
  const [pod] = podsOf(await render('minimal')) as readonly { readonly spec: object }[];
  if (pod === undefined) throw new TypeError('a pod');
  await expect(tryOut([{ ...pod, spec: { ...pod.spec, hostNetwork: true } }])).rejects.toThrow(/PodSecurity/);
});
