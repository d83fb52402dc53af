import { availableParallelism, totalmem } from 'node:os';
import type { MachineAmounts } from '../model/amounts.ts';
import type { ConfigReader } from './config.ts';

/** In a container that has less than its machine, it is the container's. */
export function readTotalMemory(): number {
  const totalBytes = totalmem();
  const ownBytes = process.constrainedMemory();
  return ownBytes > 0 ? Math.min(ownBytes, totalBytes) : totalBytes;
}

/**
 * A limit is what one sandbox in trouble may take; an idle one has 11 MB. Sixty sandboxes of the default limit, as many as a
 * pool has in the gallery, promise 30 GiB: eight times a machine of 4 GiB, on which they have less than 1 GiB while idle.
 */
const memoryPercent = 800;

/** What the memory limits of all sandboxes of this machine may add up to. */
export const readMemoryPercent = (read: ConfigReader): number =>
  read.whole('CORRAL_NODE_MEMORY_PERCENT', {
    fallback: memoryPercent,
    min: 1,
    max: 10_000,
    purpose: 'what the memory limits of all sandboxes may add up to, in percent of what this machine has',
  });

const gibibyte = 1024 ** 3;

/**
 * What the machine's own programs need, which no sandbox can ever have: an eighth, and at least 1 GiB, but never more than half. What is
 * available now says less, because sandboxes that run now have some of it.
 */
const reserveOf = (totalBytes: number): number =>
  Math.min(totalBytes / 2, Math.max(totalBytes / 8, gibibyte));

/** What one sandbox of this machine can be given at most. Its disk is a tmpfs. */
export function readHostAmounts(percent: number): MachineAmounts {
  const totalBytes = readTotalMemory();
  return {
    memoryBytes: Math.floor(Math.min(totalBytes - reserveOf(totalBytes), (totalBytes * percent) / 100)),
    cpuMilli: availableParallelism() * 1000,
    diskIsMemory: true,
  };
}
