/** How often one term stands in one file of the repository. */
export type Hit = { readonly path: string; readonly term: string; readonly count: number };

/** Folders in which no request of ours is answered: generated, vendored or only proving the code. */
const ignoredFolders = [
  'node_modules',
  'test',
  'tests',
  'cjs',
  'browser',
  'benchmark',
  'benchmarks',
  'examples',
];

/** A shell command that counts every term in every file, most frequent first; {@link parseHits} reads its output. */
export function countCommand(terms: readonly string[], options: { readonly skipTests: boolean }): string {
  const excluded = options.skipTests ? ignoredFolders.map((name) => ` --exclude-dir=${name}`).join('') : '';
  const patterns = terms.map((term) => ` -e ${shellQuoted(term)}`).join('');
  // 200 lines are more than anyone weighs, and stay below the 16 KiB of one output.
  return `cd repo && grep -rowFI${excluded} --exclude='*.map'${patterns} . | sort | uniq -c | sort -rn | head -n 200`;
}

const hitLine = /^\s*(\d+) \.\/([^:]+):(.+)$/;

/** Reads what {@link countCommand} printed. Lines of another shape (exit codes, cut marks) are passed over. */
export function parseHits(output: string): readonly Hit[] {
  return output.split('\n').flatMap((line) => {
    const [, count, path, term] = hitLine.exec(line) ?? [];
    return count === undefined || path === undefined || term === undefined
      ? []
      : [{ path, term, count: Number(count) }];
  });
}

/** One word of a shell command, whatever it contains. */
export function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
