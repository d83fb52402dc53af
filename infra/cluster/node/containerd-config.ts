import { join } from 'node:path';
import { pauseImage } from '../images/built-in.ts';
import type { NodePlan } from '../plan.ts';

export type ContainerdSettings = {
  /** Folder of the CNI plugins. */
  readonly programs: string;
  /** False where nobody may lower an out-of-memory score: runc would refuse to start anything. */
  readonly mayLowerOomScore: boolean;
  /** The runtime's program; not given: the `runc` of the PATH. */
  readonly runc?: string;
};

/**
 * Snapshotters that need filesystems of their own, and tracing, which would complain at every start; and plugins of nodes, that
 * nobody here writes.
 */
const unused = [
  'io.containerd.snapshotter.v1.blockfile',
  'io.containerd.snapshotter.v1.btrfs',
  'io.containerd.snapshotter.v1.devmapper',
  'io.containerd.snapshotter.v1.erofs',
  'io.containerd.snapshotter.v1.zfs',
  'io.containerd.internal.v1.tracing',
  'io.containerd.tracing.processor.v1.otlp',
  'io.containerd.nri.v1.nri',
];

/** containerd's configuration file (TOML). Everything it writes is in the node's folder. */
export function containerdConfig(node: NodePlan, settings: ContainerdSettings): string {
  const inNode = (name: string) => text(join(node.folder, name));
  const images = '[plugins."io.containerd.cri.v1.images"';
  const runtime = '[plugins."io.containerd.cri.v1.runtime"';
  return `version = 3
root = ${inNode('root')}
state = ${inNode('state')}
disabled_plugins = [${unused.map(text).join(', ')}]
[grpc]
  address = ${text(node.containerdSocket)}
[ttrpc]
  address = ${text(`${node.containerdSocket}.ttrpc`)}
[plugins."io.containerd.internal.v1.opt"]
  path = ${inNode('opt')}
${images}]
  snapshotter = "overlayfs"
${images}.pinned_images]
  sandbox = ${text(pauseImage)}
${images}.registry]
  config_path = ${inNode('registries')}
${runtime}]
  netns_mounts_under_state_dir = true
  disable_apparmor = true
  restrict_oom_score_adj = ${!settings.mayLowerOomScore}
${runtime}.cni]
  bin_dirs = [${text(settings.programs)}]
  conf_dir = ${inNode('cni')}
${runtime}.containerd]
  default_runtime_name = "runc"
${runtime}.containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
${runtime}.containerd.runtimes.runc.options]
  SystemdCgroup = false
  Root = ${inNode('runc')}
${settings.runc === undefined ? '' : `  BinaryName = ${text(settings.runc)}\n`}`;
}

/** A TOML string; JSON's escapes are TOML's too. */
const text = (value: string): string => JSON.stringify(value);
