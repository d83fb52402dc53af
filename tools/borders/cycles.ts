import { importsOf, pathOf } from './crossings.ts';

/** Tests are left out: a simulated world and what plays in it know each other. */
const tests = /\.test\.ts$|^test\//;

/**
 * A cycle of files that import each other, types included, as one line; null: no cycle. Files of a cycle can only be read, moved
 * and tested together. `texts`: by path from the root.
 */
export function cycleIn(texts: ReadonlyMap<string, string>): string | null {
  const open = importsByFile(texts);
  for (let before = -1; before !== open.size;) {
    before = open.size;
    for (const [file, imported] of open) if (!imported.some((path) => open.has(path))) open.delete(file);
  }
  const [first] = open.keys();
  return first === undefined ? null : describe(walkFrom(first, open));
}

function importsByFile(texts: ReadonlyMap<string, string>): Map<string, readonly string[]> {
  const files = [...texts].filter(([file]) => !tests.test(file));
  return new Map(
    files.map(([file, text]) => [
      file,
      importsOf(text).flatMap(({ specifier }) => pathOf(file, specifier) ?? []),
    ]),
  );
}

/** Each file that is still open imports another one, so a walk comes back to where it was. */
function walkFrom(first: string, open: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const path: string[] = [];
  let at: string | undefined = first;
  while (at !== undefined && !path.includes(at)) {
    path.push(at);
    at = open.get(at)?.find((imported) => open.has(imported));
  }
  return path.slice(path.indexOf(at ?? first));
}

const describe = (files: readonly string[]) => `a cycle of imports: ${[...files, files[0]].join(' → ')}`;
