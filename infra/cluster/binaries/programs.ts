/** A program that is built from a Go module pinned in `../go/MODULE/go.mod`. */
export type Program = {
  readonly name: string;
  readonly module: 'kubernetes' | 'containerd' | 'kwok' | 'cni' | 'helm' | 'coredns' | 'runc';
  readonly package: string;
  /** It is linked with libseccomp, and so needs a C compiler. */
  readonly needsSeccomp?: true;
  /** What to tell whoever waits for its first build, measured on two cores; shared packages are built once. */
  readonly firstBuild: string;
};

const kubernetes = (name: string, firstBuild: string): Program => ({
  name,
  module: 'kubernetes',
  package: `k8s.io/kubernetes/cmd/${name}`,
  firstBuild,
});

const containerd = (name: string, firstBuild: string): Program => ({
  name,
  module: 'containerd',
  package: `github.com/containerd/containerd/v2/cmd/${name}`,
  firstBuild,
});

const cni = (name: string, kind: string): Program => ({
  name,
  module: 'cni',
  package: `github.com/containernetworking/plugins/plugins/${kind}/${name}`,
  firstBuild: 'some seconds',
});

/** In the order in which they are built: what one compiles, the next need not. */
export const clusterPrograms: readonly Program[] = [
  {
    name: 'etcd',
    module: 'kubernetes',
    package: 'go.etcd.io/etcd/server/v3',
    firstBuild: 'under a minute',
  },
  kubernetes('kube-apiserver', 'about 3 minutes'),
  kubernetes('kube-controller-manager', 'about a minute'),
  kubernetes('kube-scheduler', 'some seconds'),
  kubernetes('kubelet', 'some seconds'),
  kubernetes('kubectl', 'some seconds'),
  kubernetes('kube-proxy', 'some seconds'),
  // Debian's mounts no image as a volume.
  containerd('containerd', 'about a minute'),
  containerd('containerd-shim-runc-v2', 'some seconds'),
  containerd('ctr', 'some seconds'),
  cni('bridge', 'main'),
  cni('loopback', 'main'),
  cni('host-local', 'ipam'),
  cni('portmap', 'meta'),
  { name: 'helm', module: 'helm', package: 'helm.sh/helm/v4/cmd/helm', firstBuild: 'about 2 minutes' },
  // Ours, with the few plugins that a cluster of tests needs: CoreDNS' own program has fifty.
  { name: 'coredns', module: 'coredns', package: '.', firstBuild: 'under a minute' },
];

export const kwok: Program = {
  name: 'kwok',
  module: 'kwok',
  package: 'sigs.k8s.io/kwok/cmd/kwok',
  firstBuild: 'about a minute',
};

/** Debian's gives no pod user ids of its own. Not named `runc`: containerd looks for that name in this folder first. */
export const newRunc: Program = {
  name: 'new-runc',
  module: 'runc',
  package: 'github.com/opencontainers/runc',
  firstBuild: 'under a minute',
  needsSeccomp: true,
};

/** Kubernetes says its version only if the linker is told; it is the one that go.mod pins. */
export function linkerFlags(kubernetesVersion: string): string {
  const [major = '', minor = ''] = kubernetesVersion.replace('v', '').split('.');
  const version = 'k8s.io/component-base/version';
  const told = { gitVersion: kubernetesVersion, gitMajor: major, gitMinor: minor };
  const flags = Object.entries(told).map(([name, value]) => `-X ${version}.${name}=${value}`);
  return ['-s', '-w', ...flags].join(' ');
}

/** The version that a go.mod requires of `module`; throws when it names none. */
export function requiredVersion(goMod: string, module: string): string {
  const line = goMod
    .split('\n')
    .find((each) => each.replace(/^\s*(require )?/, '').startsWith(`${module} v`));
  const version = line?.match(/ (v\S+)/)?.[1];
  if (version === undefined) throw new Error(`go.mod requires no ${module}`);
  return version;
}
