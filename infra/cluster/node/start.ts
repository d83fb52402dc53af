import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeControlGroup, ownProcesses } from '../machine/control-groups.ts';
import { livingDaemon, startDaemon } from '../machine/daemon.ts';
import { newRunc } from '../binaries/programs.ts';
import { inNamespace } from '../machine/namespace.ts';
import { run } from '../machine/run.ts';
import { until } from '../machine/until.ts';
import type { ClusterPlan, NodePlan } from '../plan.ts';
import { containerdConfig } from './containerd-config.ts';
import { kubeletConfig, type SpecialNode } from './kubelet-config.ts';
import { podNetwork } from './pod-network.ts';

/**
 * A node is containerd and a kubelet in a network namespace, a mount namespace (see own-view.sh) and a control group of
 * their own. containerd comes first and makes the mount namespace; the kubelet joins it, because the mounts of one are
 * used by the other.
 */
export const containerdOf = (node: NodePlan): string => `${node.name}-containerd`;
export const kubeletOf = (node: NodePlan): string => `${node.name}-kubelet`;

const ownView = join(import.meta.dirname, 'own-view.sh');

export async function writeNodeFiles(
  plan: ClusterPlan,
  node: NodePlan,
  programs: string,
  special?: SpecialNode,
): Promise<void> {
  await mkdir(join(node.folder, 'cni'), { recursive: true });
  const settings = {
    programs,
    mayLowerOomScore: await mayLowerOomScore(),
    ...(special?.hasNewRunc === true ? { runc: join(programs, newRunc.name) } : {}),
  };
  await Promise.all([
    writeFile(join(node.folder, 'containerd.toml'), containerdConfig(node, settings)),
    writeFile(join(node.folder, 'kubelet.yaml'), kubeletConfig(plan, node, special)),
    writeFile(join(node.folder, 'cni', '10-corral.conflist'), podNetwork(node)),
    // No name server of the machine's: what a pod asks for by name, it must not find by accident.
    writeFile(join(node.folder, 'resolv.conf'), ''),
  ]);
}

/** containerd answers in 50 ms on an idle machine. */
const containerdTimeoutMs = 20_000;

export async function startContainerd(plan: ClusterPlan, node: NodePlan, programs: string): Promise<void> {
  await makeControlGroup(node.controlGroup);
  const view = ['sh', ownView, node.folder, await ownProcesses(node.controlGroup)];
  // It looks for its shim on the PATH, where a system may have one that is older.
  const path = `PATH=${programs}:${process.env['PATH'] ?? ''}`;
  const containerd = ['env', path, join(programs, 'containerd'), '-c', join(node.folder, 'containerd.toml')];
  const argv = ['unshare', '--mount', '--propagation', 'private', '--', ...view, ...containerd];
  startDaemon(plan, { name: containerdOf(node), argv: inNamespace(node.namespace, argv) });
  await until(
    { what: `the first answer of containerd of ${node.name}`, timeoutMs: containerdTimeoutMs },
    () => run([join(programs, 'ctr'), '-a', node.containerdSocket, 'version']).then(() => true),
  );
}

export async function startKubelet(plan: ClusterPlan, node: NodePlan, programs: string): Promise<void> {
  const containerd = livingDaemon(plan.pids, containerdOf(node));
  if (containerd === null) throw new Error(`containerd of ${node.name} has ended; see ${plan.logs}`);
  const processes = await ownProcesses(node.controlGroup);
  const enter = ['nsenter', `--net=/run/netns/${node.namespace}`, `--mount=/proc/${containerd.pid}/ns/mnt`];
  const become = ['sh', '-c', 'echo $$ >"$0" && exec "$@"', processes];
  startDaemon(plan, {
    name: kubeletOf(node),
    argv: [...enter, '--', ...become, ...kubeletArgv(plan, node, programs)],
  });
}

const kubeletArgv = (plan: ClusterPlan, node: NodePlan, programs: string): readonly string[] => [
  join(programs, 'kubelet'),
  `--config=${join(node.folder, 'kubelet.yaml')}`,
  `--kubeconfig=${join(plan.certificates, `${node.name}.kubeconfig`)}`,
  `--hostname-override=${node.name}`,
  `--node-ip=${node.address}`,
  `--root-dir=${join(node.folder, 'kubelet')}`,
  `--cert-dir=${join(node.folder, 'kubelet-certificates')}`,
  '--v=2',
];

/** Bit of CAP_SYS_RESOURCE in a process's capabilities. */
const sysResource = 1n << 24n;

async function mayLowerOomScore(): Promise<boolean> {
  const effective =
    (await readFile('/proc/self/status', 'utf8')).match(/^CapEff:\s*([0-9a-f]+)$/m)?.[1] ?? '0';
  return (BigInt(`0x${effective}`) & sysResource) !== 0n;
}
