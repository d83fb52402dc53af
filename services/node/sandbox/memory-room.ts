import { freemem } from 'node:os';
import { Failure } from '#src/failure/failure.ts';
import { readTotalMemory } from '#src/platform/host-amounts.ts';

export type HostMemory = { readonly totalBytes: number; readonly availableBytes: number };

/** How much memory the sandboxes of this node may be promised, of what its machine has. */
export type MemoryRoom = { readonly percent: number; readonly read: () => HostMemory };

/**
 * `availableBytes` is what could be had without swapping: tmpfs, and so what sandboxes wrote to their disks, is not in it. In
 * a container that has less than its machine, the total is the container's.
 */
export function readHostMemory(): HostMemory {
  return { totalBytes: readTotalMemory(), availableBytes: freemem() };
}

export const mostPromised = ({ percent, read }: MemoryRoom): number =>
  Math.floor((read().totalBytes * percent) / 100);

/**
 * A sandbox may fill its limit, by processes or by files that outlive them, and then the machine must have that. Throws
 * `unschedulable`, as a cluster without room does, where the limits of all would add up to more than may be promised, or
 * the machine has not what this one may take: a neighbour's end makes room. Throws `start_failed` where none would.
 */
export function refuseWithoutRoom(limitBytes: number, promisedBytes: number, room: MemoryRoom): void {
  const { availableBytes, totalBytes } = room.read();
  const mostBytes = mostPromised(room);
  const evidence = { limitBytes, promisedBytes, mostBytes, availableBytes };
  if (limitBytes > Math.min(mostBytes, totalBytes)) {
    const sentence = `this sandbox may take ${mib(limitBytes)} of memory, and this machine has ${mib(totalBytes)}, of which ${mib(mostBytes)} may be promised`;
    throw new Failure('start_failed', `${sentence}: it never starts here; lower its memory limit`, {
      evidence,
    });
  }
  if (promisedBytes + limitBytes > mostBytes) {
    const sentence = `sandboxes of this machine are promised ${mib(promisedBytes)} of the ${mib(mostBytes)} that they may be, and this one's limit is ${mib(limitBytes)}`;
    throw new Failure(
      'unschedulable',
      `${sentence}: lower the pool or the limit, or raise CORRAL_NODE_MEMORY_PERCENT`,
      {
        evidence,
      },
    );
  }
  if (limitBytes > availableBytes) {
    const sentence = `this machine has ${mib(availableBytes)} of memory available, and this sandbox may take ${mib(limitBytes)}`;
    throw new Failure('unschedulable', `${sentence}: it starts when others have ended`, { evidence });
  }
}

export const mib = (bytes: number): string => `${Math.floor(bytes / 1024 / 1024)} MiB`;
