import { importsOf, pathOf } from './crossings.ts';

/** Less is hardly a thought, with its imports and what is said of it. */
const fewestLines = 20;

const product = /^(src|services|cli)\//;
const tests = /\.test\.ts$|^test\//;
/** Each stands beside the Lua file whose scripts it describes. */
const contracts = /^src\/adapters\/redis\/scripts\//;

/** Files of the product so short that one file alone reads: such a piece stands in its reader. `texts`: by path from the root. */
export function fragmentsOf(texts: ReadonlyMap<string, string>): readonly string[] {
  const readers = new Map<string, Set<string>>();
  for (const [file, text] of texts) {
    if (tests.test(file)) continue;
    for (const { specifier } of importsOf(text)) {
      const path = pathOf(file, specifier);
      if (path !== null) readers.set(path, (readers.get(path) ?? new Set()).add(file));
    }
  }
  return [...readers].flatMap(([file, those]) => {
    const lines = (texts.get(file)?.split('\n').length ?? 0) - 1;
    const [reader, other] = those;
    if (
      !product.test(file) ||
      contracts.test(file) ||
      lines < 1 ||
      lines >= fewestLines ||
      other !== undefined
    )
      return [];
    return [`${file} has ${lines} lines, and only ${reader} reads it: let it stand there`];
  });
}
