let collector: NodeJS.GCFunction | null = null;

/** Collects garbage now. */
export function collect(which: NodeJS.GCOptions & { readonly execution: 'sync' }): void {
  collector ??= findCollector();
  collector(which);
}

/**
 * The collector is shown only to code of a context that is made while the flag is set. Not by `--expose-gc` on our own
 * command line: V8 takes compiled code only from who was compiled with the same flags, so that Node would compile all
 * that it brings along again, which doubles what a start costs.
 */
function findCollector(): NodeJS.GCFunction {
  const { setFlagsFromString } = process.getBuiltinModule('node:v8');
  const { runInNewContext } = process.getBuiltinModule('node:vm');
  setFlagsFromString('--expose-gc');
  const found = runInNewContext('gc') as NodeJS.GCFunction;
  setFlagsFromString('--no-expose-gc');
  return found;
}
