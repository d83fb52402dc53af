import type { Groups } from './cgroups/groups.ts';

/** What this host cannot enforce or tell apart, in sentences for a person. */
export function limitationsOf(groups: Groups, isRoot: boolean): readonly string[] {
  return [
    ...groups.limitations,
    ...(isRoot ? rootLimitations : singleUserLimitations),
    'A disk limit counts as memory: /workspace and /tmp are kept in memory, and what is written there counts toward the memory limit too.',
    'Sandboxes share this host’s kernel: for code that attacks the kernel, run on a cluster with gVisor or Kata.',
  ];
}

const rootLimitations = [
  'Commands of all sandboxes run under one user id of this host, so they share the kernel’s limits for a user (inotify watches, pipe buffers, pending signals).',
  'With run_as: root a command can fill the node’s state folder through /run/corral; the disk limit does not cover it.',
];

const singleUserLimitations = [
  'isolation: single-user. Node is not root, so commands run under sandboxd’s own user: they can read and signal it, and a sandbox that ends while a command runs may be the command’s doing.',
  'isolation: single-user. Grader files are readable to the policy’s processes unless these are killed first.',
  '/workspace and /tmp each have the whole disk limit, where they share one on a host where node is root.',
];
