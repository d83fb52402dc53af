import { statfs } from 'node:fs/promises';
import type { Config } from '../config.ts';

/**
 * The disk below a pod's folders is its node's, and the kubelet measures how much each pod uses only now and then. A neighbor
 * that fills it makes this sandbox's writes fail, long before it is evicted. So a call during which that disk was
 * full says so, and its answer counts against nobody.
 *
 * Looked at from the call's beginning to its end: a neighbor may free its space again within the second. What is filled
 * and freed between two looks is not seen.
 */
export type DiskWatch = {
  /** Looks a last time. */
  readonly end: () => void;
  /** Whether the node's disk was full at any look; asked after the end. */
  readonly wasFull: () => Promise<boolean>;
};

/** A look is one system call for each folder, some microseconds. */
const lookEveryMs = 250;

type Disks = Pick<Config, 'ownDiskMebibytes' | 'workspace' | 'folders' | 'graderFolder'>;

/** `/` is the container's own layer. Each of these may lie on another disk of the node. */
const placesOf = ({ workspace, folders, graderFolder }: Disks): readonly string[] => [
  ...new Set([workspace, '/', '/tmp', graderFolder, ...folders]),
];

/** Null `ownDiskMebibytes`: the sandbox has a disk of its own, which no neighbor can fill. */
export function watchNodeDisk(disks: Disks): DiskWatch {
  if (disks.ownDiskMebibytes === null) return { end: () => undefined, wasFull: async () => false };
  let full = false;
  const look = async () => {
    full ||= await isAnyFull(disks);
  };
  let looking = look();
  const timer = setInterval(() => {
    looking = look();
  }, lookEveryMs);
  return {
    end: () => {
      clearInterval(timer);
      looking = look();
    },
    wasFull: async () => {
      await looking;
      return full;
    },
  };
}

const lookBetweenEveryMs = 1_000;

/**
 * The same between two calls, from the bind on: a disk that is full while something of the policy's lives makes that fail, and what it has left is
 * what a grader or the next call finds. So the next call says so.
 */
export class DiskBetweenCalls {
  readonly #disks: Disks;
  readonly #lives: () => boolean;
  #looking: Promise<void> | null = null;
  #wasFull = false;

  /** `lives`: whether any process of the policy's does; asked only while a disk is full. */
  constructor(disks: Disks, lives: () => boolean) {
    this.#disks = disks;
    this.#lives = lives;
  }

  begin(): void {
    if (this.#disks.ownDiskMebibytes === null) return;
    setInterval(() => void (this.#looking ??= this.#look()), lookBetweenEveryMs).unref();
  }

  get wasFull(): boolean {
    return this.#wasFull;
  }

  async #look(): Promise<void> {
    if (!this.#wasFull && (await isAnyFull(this.#disks))) this.#wasFull = this.#lives();
    this.#looking = null;
  }
}

async function isAnyFull(disks: Disks): Promise<boolean> {
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
