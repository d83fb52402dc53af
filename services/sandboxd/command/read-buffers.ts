/**
 * Node reads a pipe into a new buffer of 64 KiB each time. To the collector they look small, since their bytes lie outside
 * its heap, and so some 40 MB of them pile up under a flood of output before it looks. Young garbage is collected in a
 * millisecond, and with that the pile stays below 8 MB.
 */
const readsBetweenCollections = 128;
let reads = 0;

/** Notes one read of a pipe, whatever its size. Without Node's `--expose-gc` it only counts. */
export function noteRead(): void {
  reads = (reads + 1) % readsBetweenCollections;
  if (reads === 0) globalThis.gc?.({ type: 'minor', execution: 'sync' });
}
