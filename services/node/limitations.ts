import type { Groups } from './cgroups/groups.ts';
import type { KernelKills } from './kernel-kills.ts';
import type { OwnIds } from './own-ids.ts';
import { type MemoryRoom, mib, mostPromised } from './sandbox/memory-room.ts';

export type HostParts = {
  readonly groups: Pick<Groups, 'version' | 'limitations'>;
  readonly ids: Pick<OwnIds, 'idRanges' | 'stageFolder' | 'shared'>;
  readonly memoryRoom: MemoryRoom;
  readonly kernelKills: KernelKills | null;
  readonly canLimitSockets: boolean;
  /** How many pseudo terminals more the machine would need for all sandboxes. */
  readonly terminalsLacking: number;
  /** Whether the root of a sandbox from an image's folder can be written. */
  readonly canOverlay: boolean;
  /** Why no image of a registry can be used, as the end of a sentence; null: they can. */
  readonly imageTrouble: string | null;
};

/** In one line: which users a sandbox's processes are, and whether its limits hold. */
export function describeIsolation({ groups, ids }: Pick<HostParts, 'groups' | 'ids'>): string {
  const limits = 'limits of memory, processes and CPU';
  if (groups.version === 'none') return `${usersOf(ids)}; ${limits} not enforced`;
  return `${usersOf(ids)}; ${limits} ${groups.limitations.length === 0 ? 'enforced' : 'enforced in part'}`;
}

function usersOf({ stageFolder, shared }: HostParts['ids']): string {
  if (stageFolder === null) return 'single-user (commands, graders and sandboxd are one user)';
  return shared === null
    ? 'two users in each sandbox, of its own'
    : 'two users in each sandbox, which all sandboxes share';
}

/** What this host cannot enforce or tell apart, in sentences for a person. */
export function limitationsOf(host: HostParts): readonly string[] {
  return [
    ...host.groups.limitations,
    ...limitationsOfIds(host),
    ...(host.canOverlay ? [] : [readOnlyRoots]),
    ...(host.imageTrouble === null
      ? []
      : [`Images of registries and archives cannot be used on this host: ${host.imageTrouble}.`]),
    ...limitationsOfMemory(host.memoryRoom),
    ...limitationsOfBlame(host),
    ...(host.canLimitSockets ? [] : [unlimitedSockets]),
    ...(host.terminalsLacking > 0 ? [fewTerminals(host)] : []),
    'A disk limit counts as memory: what a sandbox writes is kept in memory, and counts toward the memory limit too.',
    'Sandboxes share this host’s kernel: for code that attacks the kernel, run on a cluster with gVisor or Kata.',
  ];
}

const unlimitedSockets =
  'The number of a sandbox’s sockets is not limited on this host: their unread and unfinished data can take memory of the host beyond the memory limit. A limit takes node as root, Linux 5.9, and no other program that answers system calls (seccomp).';

const fewTerminals = ({ terminalsLacking }: HostParts) =>
  `Many sandboxes that each take all of their 32 pseudo terminals leave none for others, whose script, tmux and terminals then fail: this host does not let node raise kernel.pty.max. Raise it by ${terminalsLacking}.`;

const readOnlyRoots =
  'The root of a sandbox from an image’s folder (rootfs) is read-only on this host; /workspace, /tmp, /var/tmp and the folders that an environment names are empty at the start, and files cannot be renamed between them. A writable root takes node as root, user ids of each sandbox’s own, Linux 5.19, and folders on a file system whose owners the kernel can shift: ext4, xfs, btrfs or tmpfs, not the overlay that is a container’s root.';

/** v2 counts by itself who lacked memory; see `memory-account.ts`. */
function limitationsOfBlame({ groups, ids, kernelKills }: HostParts): readonly string[] {
  if (groups.version !== 'v1' || (kernelKills !== null && ids.idRanges !== null)) return [];
  return [
    'This host’s control groups (version 1) do not tell whose want of memory a kill was for, and the kernel’s log cannot say it here: that takes /dev/kmsg, and user ids of each sandbox’s own. Where a sandbox has ever used all of its memory, files included, what the machine kills in it counts as its own doing.',
  ];
}

function limitationsOfMemory(room: MemoryRoom): readonly string[] {
  if (room.percent <= 100) return [];
  const promised = `Memory is promised more than once: the limits of all sandboxes may add up to ${mib(mostPromised(room))}, and this machine has ${mib(room.read().totalBytes)}.`;
  return [
    `${promised} A sandbox starts only while its whole limit is available; CORRAL_NODE_MEMORY_PERCENT=100 promises no more than there is.`,
  ];
}

function limitationsOfIds({ ids: { stageFolder, shared }, canOverlay }: HostParts): readonly string[] {
  if (stageFolder === null) return singleUserLimitations;
  if (shared !== null) return sharedIdsLimitations(shared);
  return canOverlay ? ownIdsLimitations : [...ownIdsLimitations, closedImages];
}

const ownIdsLimitations = [
  'Sandboxes read the same files of this host (programs, libraries, data folders): two rollouts that both want to can signal to each other by locks (flock) on them, and by what inotify tells of their use.',
  'What of a data folder is closed to other users of this host is closed in sandboxes too, also to run_as: root.',
];

const closedImages =
  'What of a rootfs image is closed to other users of this host is closed in sandboxes too, also to run_as: root.';

const sharedIdsLimitations = (reason: string) => [
  `Commands of all sandboxes run under one user id of this host, so they share the kernel’s limits for a user (inotify watches, pipe buffers, pending signals), and can signal to each other by them and by locks on shared files. A user namespace for each sandbox could not be had: ${reason}`,
  'With run_as: root a command can fill the node’s state folder through /.corral/daemon; the disk limit does not cover it.',
];

const singleUserLimitations = [
  'isolation: single-user. Node is not root, so commands run under sandboxd’s own user: they can read and signal it, and a sandbox that ends while a command runs may be the command’s doing.',
  'isolation: single-user. A grader is the same user as the policy: what it runs of the policy’s can read its files and write its score.',
  'Node is not root: commands cannot listen on ports below 1024, and cannot send pings.',
  '/workspace, /tmp, /var/tmp and the home each have the whole disk limit, where they share one on a host where node is root.',
];
