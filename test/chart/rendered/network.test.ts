import { expect, test } from 'vitest';
import { oneOf, render } from '#test/support/helm.ts';

type Peer = { readonly podSelector?: { readonly matchLabels?: Readonly<Record<string, string>> } };
type Rule = {
  readonly from?: readonly Peer[];
  readonly to?: readonly Peer[];
  readonly ports?: readonly { readonly port: number }[];
};
type Policy = { readonly ingress: readonly Rule[]; readonly egress: readonly Rule[] };

const componentsOf = (peers: readonly Peer[] = []) =>
  peers.flatMap(({ podSelector }) => podSelector?.matchLabels?.['app.kubernetes.io/component'] ?? []);

/** Closed to all but one pod of somebody else's. */
const closed = [
  ['--set', 'networkPolicy.enabled=true'],
  ['--set-json', 'networkPolicy.gatewayFrom=[{"podSelector":{"matchLabels":{"app":"proxy"}}}]'],
  ['--set-json', 'networkPolicy.metricsFrom=[{"podSelector":{"matchLabels":{"app":"prometheus"}}}]'],
].flat();

test('in a fleet that is closed gateways reach each other and the controllers, to tell one story', async () => {
  const objects = await render('production', ...closed);
  const policyOf = (name: string) => oneOf(objects, 'NetworkPolicy', name)['spec'] as Policy;
  const gateway = policyOf('lab-gateway');
  const controller = policyOf('lab-controller');
  expect(gateway.ingress.map(({ from }) => componentsOf(from))).toEqual([
    ['preflight', 'console', 'gateway'],
  ]);
  expect(controller.ingress.map(({ from }) => componentsOf(from))).toEqual([['gateway']]);
  const reached = gateway.egress.flatMap(({ to, ports = [] }) =>
    componentsOf(to).map((component) => [component, ports.map(({ port }) => port)]),
  );
  expect(reached).toEqual(
    expect.arrayContaining([
      ['gateway', [8080]],
      ['controller', [9100]],
    ]),
  );
});

test('in a fleet that is closed the console is reached by what values name, and reaches gateways and the store', async () => {
  const { ingress, egress } = oneOf(await render('production'), 'NetworkPolicy', 'lab-console')[
    'spec'
  ] as Policy;
  expect(ingress).toEqual([
    {
      ports: [{ protocol: 'TCP', port: 8_701 }],
      from: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'ingress' } } }],
    },
  ]);
  const [names, gateways, store, ...others] = egress;
  expect(names?.ports?.map(({ port }) => port)).toEqual([53, 53]);
  expect([componentsOf(gateways?.to), gateways?.ports]).toEqual([
    ['gateway'],
    [{ protocol: 'TCP', port: 8_080 }],
  ]);
  expect(store).toEqual({ ports: [{ protocol: 'TCP', port: 443 }] });
  expect(others).toEqual([]);
});

test('the console reaches a store of another address by its port', async () => {
  const change = ['--set', 'trajectories.endpoint=http://minio.storage:9000'];
  const { egress } = oneOf(await render('production', ...change), 'NetworkPolicy', 'lab-console')[
    'spec'
  ] as Policy;
  expect(egress).toContainEqual({ ports: [{ protocol: 'TCP', port: 9_000 }] });
});
