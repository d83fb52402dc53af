import { join } from 'node:path';
import { type ClusterPlan, hubAddress, type NodePlan } from '../plan.ts';

/** Where a node's kube-proxy says how it is: on the loopback of the node. */
export const kubeProxyHealth = '127.0.0.1:10256';

/** A node's kube-proxy: addresses of Services, and the NodePorts of its node, by nftables. */
export function kubeProxyArgv({ certificates }: ClusterPlan, node: NodePlan): readonly string[] {
  return [
    'kube-proxy',
    `--kubeconfig=${join(certificates, 'kube-proxy.kubeconfig')}`,
    `--hostname-override=${node.name}`,
    '--proxy-mode=nftables',
    // 0 leaves them as they are: they belong to the machine, and where it is a container they cannot be written.
    '--conntrack-max-per-core=0',
    '--conntrack-tcp-timeout-established=0',
    '--conntrack-tcp-timeout-close-wait=0',
    `--healthz-bind-address=${kubeProxyHealth}`,
    '--metrics-bind-address=127.0.0.1:10249',
  ];
}

/** All names in the cluster end in it. */
export const clusterDomain = 'cluster.local';
export const nameServerHealth = `${hubAddress}:8181`;

/**
 * CoreDNS' configuration. It knows the cluster's names and no others, and asks nobody: what is not there is refused at
 * once. Answers are kept for 5 s, not 30, since tests move Services about.
 */
export const corefile = ({ kubeconfig }: ClusterPlan): string => `.:53 {
  bind ${hubAddress}
  errors
  ready ${nameServerHealth}
  cache 5
  kubernetes ${clusterDomain} in-addr.arpa {
    kubeconfig ${kubeconfig} admin
    ttl 5
  }
}
`;
