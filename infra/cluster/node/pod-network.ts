import { join } from 'node:path';
import type { NodePlan } from '../plan.ts';

/**
 * The CNI configuration: one bridge for the node's pods, addresses from the node's own range, no translation, so that a
 * pod is reached by its address from the hub and from every other node. It enforces no NetworkPolicy.
 */
export function podNetwork(node: NodePlan): string {
  const ipam = {
    type: 'host-local',
    dataDir: join(node.folder, 'ipam'),
    ranges: [[{ subnet: node.podRange }]],
    routes: [{ dst: '0.0.0.0/0' }],
  };
  const bridge = { type: 'bridge', bridge: 'cni0', isGateway: true, ipMasq: false, hairpinMode: true, ipam };
  const ports = { type: 'portmap', capabilities: { portMappings: true } };
  return `${JSON.stringify({ cniVersion: '1.0.0', name: 'corral', plugins: [bridge, ports] }, null, 2)}\n`;
}
