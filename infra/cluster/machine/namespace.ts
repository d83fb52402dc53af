/**
 * A command as it is run inside a network namespace. `ip netns exec` would not do: it mounts a fresh /sys over ours, and
 * the control groups, which the kubelet and containerd need, are gone.
 */
export const inNamespace = (namespace: string, argv: readonly string[]): readonly string[] => [
  'nsenter',
  `--net=/run/netns/${namespace}`,
  '--',
  ...argv,
];
