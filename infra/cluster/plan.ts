import { join } from 'node:path';

/**
 * Where everything of a cluster is and what it is called: all of it follows from the cluster's name, so it can be found
 * and removed without our memory.
 *
 * Each cluster has a network namespace of its own, the hub, with the control plane and a bridge in it; each node has one
 * more, joined to that bridge. No namespace has a way out of the machine, so every cluster may use the same addresses.
 */
export type ClusterPlan = {
  readonly name: string;
  readonly folder: string;
  /** Network namespace of the control plane; whoever talks to the API or to pods does it from in there. */
  readonly hub: string;
  readonly kubeconfig: string;
  readonly certificates: string;
  readonly logs: string;
  readonly pids: string;
  readonly nodes: readonly NodePlan[];
  readonly fakeNodes: number;
  readonly nodeLoss: NodeLoss;
};

export type NodePlan = {
  readonly name: string;
  readonly folder: string;
  /** Network namespace of the node. */
  readonly namespace: string;
  /** The node's end of the wire in the hub: taken down, the node is cut off. */
  readonly hubLink: string;
  readonly address: string;
  readonly podRange: string;
  /** Name of its control group, below the root of each hierarchy. */
  readonly controlGroup: string;
  readonly containerdSocket: string;
};

/**
 * How soon the cluster gives a node up: `fast` in about 10 s, so that tests can wait for it; `patient` as Kubernetes ships
 * it (50 s, and 300 s more before pods are moved). Fake nodes need the latter: one busy moment takes them longer than 10 s
 * to report, and what the cluster then writes into their pods, kwok never takes back.
 */
export type NodeLoss = 'fast' | 'patient';

export type ClusterWish = {
  readonly name: string;
  readonly nodes: number;
  readonly fakeNodes: number;
  readonly nodeLoss: NodeLoss;
};

export const hubAddress = '10.250.0.1';
export const hubPrefix = 24;
export const apiPort = 6443;
/** For whoever is inside the hub; pods and nodes use {@link hubAddress}. */
export const apiAddressInHub = `https://127.0.0.1:${apiPort}`;
export const etcdAddress = 'http://127.0.0.1:2379';
/** Services get addresses from here; the API server itself gets the first. */
export const serviceRange = '10.96.0.0/16';
export const apiServiceAddress = '10.96.0.1';
/** Addresses that kwok writes into its pods; nothing listens there unless a test routes the range to itself. */
export const fakePodRange = '10.64.0.0/16';

/** Node addresses end in 11 to 19, pod ranges are 10.251.1.0 to 10.251.9.0. */
export const mostNodes = 9;

export function planCluster(wish: ClusterWish): ClusterPlan {
  const folder = folderOf(wish.name);
  const hub = `corral-${wish.name}`;
  return {
    name: wish.name,
    folder,
    hub,
    kubeconfig: join(folder, 'admin.kubeconfig'),
    certificates: join(folder, 'certificates'),
    logs: join(folder, 'logs'),
    pids: join(folder, 'pids'),
    nodes: Array.from({ length: wish.nodes }, (_, index) => planNode(folder, hub, index + 1)),
    fakeNodes: wish.fakeNodes,
    nodeLoss: wish.nodeLoss,
  };
}

/** Always below /tmp: a node sees its own /run and /var (see node/start.ts), and paths of sockets must be short. */
export const folderOf = (name: string): string => `/tmp/corral-cluster-${name}`;

function planNode(clusterFolder: string, hub: string, number: number): NodePlan {
  const name = `n${number}`;
  const folder = join(clusterFolder, name);
  return {
    name,
    folder,
    namespace: `${hub}-${name}`,
    hubLink: `v${name}`,
    address: `10.250.0.1${number}`,
    podRange: `10.251.${number}.0/24`,
    controlGroup: `${hub}-${name}`,
    containerdSocket: join(folder, 'containerd.sock'),
  };
}
