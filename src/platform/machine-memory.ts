import { readFileSync } from 'node:fs';

/**
 * Whether the machine had memory to spare, by `MemAvailable` of /proc/meminfo, which is the whole machine's in a container, too. It
 * can rule the machine out where the kernel does not say whose limit a kill was for. A kill for the machine, or for all pods of a
 * node together, ends no shortage but for what it freed itself.
 */
export type MachineMemory = {
  /** A shortage that begins and ends between two looks is not seen. */
  readonly look: () => void;
  /** Looks, and says whether a quarter of the memory was available at every look, without `freedBytes` that a kill may have freed. */
  readonly hadRoom: (freedBytes: number) => boolean;
};

/** How often to look: one is a read of 20 µs. */
export const lookAtMemoryEveryMs = 250;

/**
 * Nodes keep up to a quarter of a small machine for themselves, and that is what stays available when all of their pods together reach
 * their limit. https://cloud.google.com/kubernetes-engine/docs/concepts/plan-node-sizes (25 % of the first 4 GiB)
 */
const spareShare = 1 / 4;

export function watchMachineMemory(file = '/proc/meminfo'): MachineMemory {
  let leastSpareBytes = Number.POSITIVE_INFINITY;
  const look = () => {
    leastSpareBytes = Math.min(leastSpareBytes, spareBytesIn(readOrEmpty(file)));
  };
  look();
  return {
    look,
    hadRoom: (freedBytes) => {
      look();
      return leastSpareBytes >= freedBytes;
    },
  };
}

/** What is available beyond the share that must stay; nothing if it cannot be read, so that nothing is ruled out. */
function spareBytesIn(meminfo: string): number {
  const total = Number(/^MemTotal: {1,20}(\d{1,15}) kB$/mu.exec(meminfo)?.[1]);
  const available = Number(/^MemAvailable: {1,20}(\d{1,15}) kB$/mu.exec(meminfo)?.[1]);
  if (!Number.isFinite(total + available)) return Number.NEGATIVE_INFINITY;
  return (available - total * spareShare) * 1024;
}

function readOrEmpty(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
