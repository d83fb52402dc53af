/**
 * Node reads a pipe into a new buffer of 64 KiB each time. To the collector they look small, since their bytes lie outside
 * its heap, and so some 40 MB of them pile up under a flood of output before it looks. Young garbage is collected in a
 * millisecond, and with that the pile stays below 8 MB.
 */
const readsBetweenCollections = 128;
let reads = 0;
let collector: NodeJS.GCFunction | null = null;

/** Notes one read of a pipe, whatever its size. */
export function noteRead(): void {
  reads = (reads + 1) % readsBetweenCollections;
  if (reads > 0) return;
  collector ??= findCollector();
  collector({ type: 'minor', execution: 'sync' });
}

/**
 * The collector is shown only to code of a context that is made while the flag is set. Not by `--expose-gc` on our own
 * command line: V8 takes compiled code only from who was compiled with the same flags, so that Node would compile all
 * that it brings along anew, which doubles what a start costs.
 */
function findCollector(): NodeJS.GCFunction {
  const { setFlagsFromString } = process.getBuiltinModule('node:v8');
  const { runInNewContext } = process.getBuiltinModule('node:vm');
  setFlagsFromString('--expose-gc');
  const found = runInNewContext('gc') as NodeJS.GCFunction;
  setFlagsFromString('--no-expose-gc');
  return found;
}
