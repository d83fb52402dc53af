import type {
  V1NetworkPolicy,
  V1NetworkPolicyEgressRule,
  V1NetworkPolicyPeer,
  V1NetworkPolicyPort,
  V1NetworkPolicySpec,
} from '@kubernetes/client-node';
import type { EgressRule, NetworkClass } from '#src/model/cluster.ts';
import { labelKeys } from '../pod/labels.ts';
import { fleetLabels, type ManifestSettings, processLabels } from './labels.ts';

/** The library's own type calls `from` otherwise, and renames it on its way to the server. */
type Ingress = { readonly from: V1NetworkPolicyPeer[]; readonly ports: V1NetworkPolicyPort[] };
type Spec = Omit<V1NetworkPolicySpec, 'ingress'> & { readonly ingress?: readonly Ingress[] };
type NetworkPolicy = Omit<V1NetworkPolicy, 'spec'> & { readonly spec: Spec };

/**
 * One policy closes the namespace, and one more for each of the operator's network classes opens what that class may
 * reach: policies add up, and a sandbox carries its class as a label. None is made for a rollout: the plugin that
 * enforces them would have to follow every one of a burst.
 */
export const networkPolicies = (settings: ManifestSettings): NetworkPolicy[] => [
  policy(settings, `${settings.fleet}-sandboxes`, closedBut(settings)),
  ...Object.entries(settings.networks).map(([name, network]) =>
    policy(settings, `${settings.fleet}-network-${name}`, opened(settings.fleet, name, network)),
  ),
];

const policy = ({ fleet, namespace }: ManifestSettings, name: string, spec: Spec): NetworkPolicy => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { name, namespace, labels: fleetLabels(fleet) },
  spec,
});

/** Every pod of the namespace, whatever its labels: whatever was forgotten is closed. */
const closedBut = ({ home, port }: ManifestSettings): Spec => ({
  podSelector: {},
  policyTypes: ['Ingress', 'Egress'],
  ingress: [fromProcesses(home, port)],
  egress: [],
});

/** Gateways send the calls; controllers ask a new sandbox whether it works, and an overdue one how it is. */
const fromProcesses = (home: string, port: number): Ingress => ({
  from: [
    {
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': home } },
      podSelector: {
        matchLabels: { [processLabels.partOf]: 'corral' },
        matchExpressions: [
          { key: processLabels.component, operator: 'In', values: ['gateway', 'controller'] },
        ],
      },
    },
  ],
  ports: [{ protocol: 'TCP', port }],
});

const opened = (fleet: string, name: string, network: NetworkClass): Spec => ({
  podSelector: { matchLabels: { [labelKeys.fleet]: fleet, [labelKeys.network]: name } },
  policyTypes: ['Egress'],
  egress: [...(network.dnsPolicy === 'ClusterFirst' ? [clusterNames] : []), ...network.egress.map(toRange)],
});

/** Where every common distribution has its name servers. */
const clusterNames: V1NetworkPolicyEgressRule = {
  to: [
    {
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'kube-system' } },
      podSelector: { matchLabels: { 'k8s-app': 'kube-dns' } },
    },
  ],
  ports: [
    { protocol: 'UDP', port: 53 },
    { protocol: 'TCP', port: 53 },
  ],
};

const toRange = ({ cidr, except, ports }: EgressRule): V1NetworkPolicyEgressRule => ({
  to: [{ ipBlock: { cidr, ...(except.length === 0 ? {} : { except: [...except] }) } }],
  ...(ports.length === 0 ? {} : { ports: ports.map(({ protocol, port }) => ({ protocol, port })) }),
});
