import { existsSync } from 'node:fs';
import { inNamespace } from './machine/namespace.ts';
import { run } from './machine/run.ts';
import { type ClusterPlan, hubAddress, hubPrefix, type NodePlan } from './plan.ts';

const bridge = 'br0';
/** The node's end of its wire, inside the node's namespace. */
const nodeLink = 'eth0';

/** The hub: loopback, and a bridge that carries every node's wire. */
export async function makeHub({ hub }: ClusterPlan): Promise<void> {
  await run(['ip', 'netns', 'add', hub]);
  await inside(hub, [
    'link set lo up',
    `link add ${bridge} type bridge`,
    `address add ${hubAddress}/${hubPrefix} dev ${bridge}`,
    `link set ${bridge} up`,
  ]);
  await forward(hub);
}

/** A node's namespace, its wire to the hub, and the hub's way to the node's pods. */
export async function joinNode({ hub }: ClusterPlan, node: NodePlan): Promise<void> {
  await run(['ip', 'netns', 'add', node.namespace]);
  await inside(hub, [
    `link add ${node.hubLink} type veth peer name ${nodeLink} netns ${node.namespace}`,
    `link set ${node.hubLink} master ${bridge} up`,
  ]);
  await inside(node.namespace, [
    'link set lo up',
    `address add ${node.address}/${hubPrefix} dev ${nodeLink}`,
    `link set ${nodeLink} up`,
    `route add default via ${hubAddress}`,
  ]);
  await inside(hub, [`route replace ${node.podRange} via ${node.address}`]);
  await forward(node.namespace);
}

/** Takes the node's wire down or up again, at the hub's end. */
export async function setWire({ hub }: ClusterPlan, node: NodePlan, state: 'up' | 'down'): Promise<void> {
  await inside(hub, [`link set ${node.hubLink} ${state}`]);
}

export async function removeNamespace(namespace: string): Promise<void> {
  if (namespaceExists(namespace)) await run(['ip', 'netns', 'delete', namespace]);
}

export const namespaceExists = (namespace: string): boolean => existsSync(`/run/netns/${namespace}`);

/** Several `ip` commands in one call, so that making a network does not cost a process for each line. */
async function inside(namespace: string, commands: readonly string[]): Promise<void> {
  await run(inNamespace(namespace, ['ip', '-batch', '-']), { stdin: `${commands.join('\n')}\n` });
}

async function forward(namespace: string): Promise<void> {
  await run(inNamespace(namespace, ['sysctl', '-qw', 'net.ipv4.ip_forward=1']));
}
