import { join } from 'node:path';
import { apiPort, type ClusterPlan, etcdAddress, hubAddress, type NodeLoss, serviceRange } from '../plan.ts';

/** How the cluster gives nodes up: see {@link NodeLoss}. */
const nodeLossTimes: Readonly<Record<NodeLoss, { readonly graceS: number; readonly tolerationS: number }>> = {
  fast: { graceS: 10, tolerationS: 5 },
  patient: { graceS: 50, tolerationS: 300 },
};

/** Images as volumes are off by default before Kubernetes 1.35. The API server and the kubelets must both be told. */
export const imageVolumeGate = 'ImageVolume';
const imageVolumes = [`--feature-gates=${imageVolumeGate}=true`];

export function etcdArgv({ folder }: ClusterPlan): readonly string[] {
  return [
    'etcd',
    `--data-dir=${join(folder, 'etcd')}`,
    // A cluster of tests does not outlive the machine, and a sync for each write is most of what it would cost.
    '--unsafe-no-fsync',
    `--listen-client-urls=${etcdAddress}`,
    `--advertise-client-urls=${etcdAddress}`,
    '--listen-peer-urls=http://127.0.0.1:2380',
    '--log-level=warn',
  ];
}

export function apiServerArgv({ certificates, nodeLoss }: ClusterPlan): readonly string[] {
  const file = (name: string) => join(certificates, name);
  const { tolerationS } = nodeLossTimes[nodeLoss];
  return [
    'kube-apiserver',
    `--etcd-servers=${etcdAddress}`,
    '--bind-address=0.0.0.0',
    `--secure-port=${apiPort}`,
    // Pods are told this address; loopback would be their own.
    `--advertise-address=${hubAddress}`,
    `--service-cluster-ip-range=${serviceRange}`,
    `--client-ca-file=${file('ca.crt')}`,
    `--tls-cert-file=${file('apiserver.crt')}`,
    `--tls-private-key-file=${file('apiserver.key')}`,
    `--kubelet-client-certificate=${file('kubelet-client.crt')}`,
    `--kubelet-client-key=${file('kubelet-client.key')}`,
    // Nodes' names resolve nowhere, so logs and exec must go to their addresses.
    '--kubelet-preferred-address-types=InternalIP',
    // Without an aggregated API it has no use but that the controller-manager asks for it again and again.
    `--requestheader-client-ca-file=${file('ca.crt')}`,
    '--requestheader-allowed-names=front-proxy-client',
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${file('service-accounts.pub')}`,
    `--service-account-signing-key-file=${file('service-accounts.key')}`,
    '--authorization-mode=Node,RBAC',
    '--enable-admission-plugins=NodeRestriction',
    '--allow-privileged=true',
    '--profiling=false',
    ...imageVolumes,
    `--default-not-ready-toleration-seconds=${tolerationS}`,
    `--default-unreachable-toleration-seconds=${tolerationS}`,
  ];
}

export function controllerManagerArgv({ certificates, nodeLoss }: ClusterPlan): readonly string[] {
  const file = (name: string) => join(certificates, name);
  return [
    'kube-controller-manager',
    ...identity(file('controller-manager.kubeconfig')),
    '--use-service-account-credentials=true',
    `--service-account-private-key-file=${file('service-accounts.key')}`,
    `--root-ca-file=${file('ca.crt')}`,
    `--cluster-signing-cert-file=${file('ca.crt')}`,
    `--cluster-signing-key-file=${file('ca.key')}`,
    // With the default of 20 a second, service accounts exist 4 s later, and pods are refused until then.
    '--kube-api-qps=500',
    '--kube-api-burst=1000',
    '--node-monitor-period=1s',
    `--node-monitor-grace-period=${nodeLossTimes[nodeLoss].graceS}s`,
  ];
}

export function schedulerArgv({ certificates }: ClusterPlan): readonly string[] {
  return [
    'kube-scheduler',
    ...identity(join(certificates, 'scheduler.kubeconfig')),
    // With the default of 50 a second, 500 pods wait 8 s for it instead of 3 s.
    '--kube-api-qps=1000',
    '--kube-api-burst=2000',
  ];
}

const identity = (kubeconfig: string): readonly string[] => [
  `--kubeconfig=${kubeconfig}`,
  `--authentication-kubeconfig=${kubeconfig}`,
  `--authorization-kubeconfig=${kubeconfig}`,
  '--bind-address=127.0.0.1',
  '--leader-elect=false',
];
