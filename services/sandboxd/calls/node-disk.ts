import { statfs } from 'node:fs/promises';
import type { Config } from '../config.ts';

/*
 * The disk below a pod's folders is its node's, and the kubelet measures how much each pod uses only now and then. A neighbor
 * that fills it makes this sandbox's writes fail, long before it is evicted.
 */

type Disks = Pick<Config, 'ownDiskMebibytes' | 'workspace' | 'folders' | 'graderFolder'>;

/** `/` is the container's own layer. Each of these may lie on another disk of the node. */
const placesOf = ({ workspace, folders, graderFolder }: Disks): readonly string[] => [
  ...new Set([workspace, '/', '/tmp', graderFolder, ...folders]),
];

/** Null `ownDiskMebibytes`: the sandbox has a disk of its own, which no neighbor can fill. */
export async function isAnyFull(disks: Disks): Promise<boolean> {
  if (disks.ownDiskMebibytes === null) return false;
  for (const place of placesOf(disks)) if (await isFullAt(place, disks.ownDiskMebibytes)) return true;
  return false;
}

async function isFullAt(folder: string, ownDiskMebibytes: number): Promise<boolean> {
  try {
    return isNodesAndFull(await statfs(folder), ownDiskMebibytes);
  } catch {
    // A folder that the policy removed, or whose server is gone: other steps say that better.
    return false;
  }
}

export type DiskState = {
  readonly bsize: number;
  readonly blocks: number;
  readonly bavail: number;
  readonly files: number;
  readonly ffree: number;
};

/**
 * A volume of about the sandbox's own size is the sandbox's alone: full, it is the policy's doing. Full is below 1 % of
 * blocks or of inodes, since what is left is reserved, or goes to one large write.
 */
export function isNodesAndFull(disk: DiskState, ownDiskMebibytes: number): boolean {
  const isShared = disk.blocks * disk.bsize > 2 * ownDiskMebibytes * 1024 * 1024;
  return isShared && (disk.bavail * 100 < disk.blocks || disk.ffree * 100 < disk.files);
}
