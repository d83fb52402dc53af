import { rootCapabilities, type SourceFolder } from '#src/model/environment.ts';
import { mount, type Option } from './options.ts';
import { places, type Users } from './places.ts';

/**
 * A root that commands may write as its permissions say, over an image that stays as it is. `mount-root` has mounted it where the
 * launch finds it, and every mount point exists in it (`skeleton.ts`).
 *
 * Graders get a root of their own: the same image, read-only, without anything that the policy wrote. Of the policy's files it has
 * the workspace and the template's folders.
 */
export type OverlayRoot = {
  readonly at: string;
  /** The root for graders; null: this sandbox's commands are its root, so nothing could be kept from them. */
  readonly graders: string | null;
  /** The graders' disk. The policy's is another, and may be full. */
  readonly graderDisk: string;
  /** The policy's folders in the graders' root: the workspace, and the folders that the template names. */
  readonly shared: readonly string[];
  /** Folders of the policy's root that cannot be moved or removed, because they are mounts of their own. */
  readonly pinned: readonly string[];
};

/** What is mounted into such roots. */
export type Mounts = {
  /** /proc, /dev and /sys of a root. */
  readonly kernel: (root: string) => readonly Option[];
  /** What sandboxd itself needs. */
  readonly own: readonly Option[];
  readonly payloadFolder: string;
  readonly data: readonly SourceFolder[];
  /** Of the graders' temporary folder. */
  readonly diskBytes: number;
};

/**
 * If commands are root of the sandbox, its files are theirs and services drop their rights, as in a container. Otherwise, starting a
 * program in the graders' root takes CHROOT, which ends with the ids of sandboxd.
 */
export const overlayCapabilities = (users: Users): readonly string[] =>
  users === 'root' ? rootCapabilities.map((name) => `CAP_${name}`) : ['CAP_SYS_CHROOT'];

export function overlayRoot(overlay: OverlayRoot, mounts: Mounts): readonly Option[] {
  return [
    ['--bind', overlay.at, '/'],
    ...overlay.pinned.map((folder) => ['--bind', `${overlay.at}${folder}`, folder]),
    ...mounts.kernel(''),
    ...ownPlaces(overlay),
    ...mounts.own,
    ...mounts.data.map(({ source, target }) => ['--ro-bind', source, target]),
    ...(overlay.graders === null ? [] : graderRoot(overlay, overlay.graders, mounts)),
    ['--remount-ro', places.own],
  ];
}

/** Of its mount points alone. */
const ownBytes = 64 * 1024;

/**
 * A file system of its own, so that not even root of the sandbox can move what it runs on (EBUSY), and that what stays on one file system
 * (`find -xdev`, `du -x`) stays out of it.
 */
const ownPlaces = ({ graders, graderDisk }: OverlayRoot): readonly Option[] => [
  ['--perms', '0755', '--size', String(ownBytes), '--tmpfs', places.own],
  ['--dir', places.grader],
  ['--bind', graderDisk, places.grader],
  ...(graders === null ? [] : [['--perms', '0700', '--dir', places.graders]]),
];

function graderRoot(
  { at, graderDisk, shared }: OverlayRoot,
  graders: string,
  { kernel, payloadFolder, data, diskBytes }: Mounts,
): readonly Option[] {
  const root = places.graderRoot;
  const temporary = ['--perms', '1777', '--size', String(diskBytes), '--tmpfs', `${root}${places.temporary}`];
  return [
    ['--dir', root],
    ['--ro-bind', graders, root],
    ...(shared.includes(places.temporary) ? [] : [temporary]),
    ...shared.flatMap((folder) => mount('--bind', `${at}${folder}`, `${root}${folder}`)),
    ...kernel(root),
    ['--ro-bind', payloadFolder, `${root}${places.payload}`],
    ['--bind', graderDisk, `${root}${places.grader}`],
    ...data.flatMap(({ source, target }) => mount('--ro-bind', source, `${root}${target}`)),
  ];
}
