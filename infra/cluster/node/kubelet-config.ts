import { join } from 'node:path';
import { imageVolumeGate } from '../control-plane/argv.ts';
import { type ClusterPlan, hubAddress, type NodePlan } from '../plan.ts';
import { clusterDomain } from '../services/argv.ts';

/** What sets a node apart from the cluster's others. */
export type SpecialNode = {
  /** Only pods that tolerate this key are placed there. */
  readonly taint: string;
  /** It has a disk of its own, and evicts pods as the kubelet is shipped. */
  readonly hasOwnDisk: boolean;
  /** Its pods can have user ids of their own. */
  readonly hasNewRunc: boolean;
};

/** The kubelet's configuration file. JSON, which is YAML too. */
export function kubeletConfig(plan: ClusterPlan, node: NodePlan, special?: SpecialNode): string {
  const clientCAFile = join(plan.certificates, 'ca.crt');
  return `${JSON.stringify(
    {
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      kind: 'KubeletConfiguration',
      containerRuntimeEndpoint: `unix://${node.containerdSocket}`,
      address: node.address,
      healthzBindAddress: '127.0.0.1',
      authentication: {
        anonymous: { enabled: false },
        webhook: { enabled: true },
        x509: { clientCAFile },
      },
      authorization: { mode: 'Webhook' },
      cgroupDriver: 'cgroupfs',
      cgroupRoot: `/${node.controlGroup}`,
      failCgroupV1: false,
      failSwapOn: false,
      clusterDNS: [hubAddress],
      clusterDomain,
      resolvConf: join(node.folder, 'resolv.conf'),
      podLogsDir: join(node.folder, 'logs'),
      maxPods: 110,
      featureGates: { [imageVolumeGate]: true },
      serializeImagePulls: false,
      registryPullQPS: 0,
      ...tellsOften,
      ...(special?.hasOwnDisk === true ? {} : neverCleansUp),
      ...(special === undefined
        ? {}
        : { registerWithTaints: [{ key: special.taint, effect: 'NoSchedule' }] }),
      systemReserved: { memory: '1Gi' },
    },
    null,
    2,
  )}\n`;
}

/**
 * A lease of 8 s, renewed every 2 s, is what lets the cluster give a silent node up after 10 s. Volumes are measured every
 * 5 s instead of every minute, so that one past its limit is noticed while a test waits.
 */
const tellsOften = {
  nodeStatusUpdateFrequency: '2s',
  nodeLeaseDurationSeconds: 8,
  volumeStatsAggPeriod: '5s',
  kubeAPIQPS: 200,
  kubeAPIBurst: 400,
};

/** How full the machine's disk is must not evict pods, nor remove images that no registry could bring back. */
const neverCleansUp = {
  imageGCHighThresholdPercent: 100,
  imageGCLowThresholdPercent: 99,
  evictionHard: {
    'memory.available': '100Mi',
    'nodefs.available': '0%',
    'nodefs.inodesFree': '0%',
    'imagefs.available': '0%',
  },
};
