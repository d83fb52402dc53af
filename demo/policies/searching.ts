/** Words shorter than this match everywhere. */
const shortestTerm = 5;

const codeSpan = /`([^`]+)`/g;
const quotedSpan = /"([^"]{8,})"/g;
const identifier = /[A-Za-z_][A-Za-z0-9_]*/g;

/** What to look for: the identifiers that a request sets in code type, and whole sentences that it quotes. */
export function keyTerms(request: string): readonly string[] {
  const quoted = matches(request, quotedSpan);
  const identifiers = matches(request, codeSpan).flatMap((span) => span.match(identifier) ?? []);
  return [...new Set([...identifiers.filter((term) => term.length >= shortestTerm), ...quoted])];
}

function matches(text: string, pattern: RegExp): readonly string[] {
  return [...text.matchAll(pattern)].flatMap((match) => match[1] ?? []);
}

/** Which kinds of file a request speaks of, beside code. */
export function wantedKinds(request: string): { readonly types: boolean; readonly prose: boolean } {
  return {
    types: /\b(types?|typings?|declar\w+|interface)\b/i.test(request),
    prose: /\b(documentation|readme|page)\b/i.test(request),
  };
}

/** How often one term stands in one file of the repository. */
type Hit = { readonly path: string; readonly term: string; readonly count: number };

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

type RankedFile = { readonly path: string; readonly weight: number };

/**
 * Files by how much of the request they speak of. A term weighs the more, the fewer files know it; a file that repeats
 * it weighs more, but only by the logarithm. Heaviest first.
 */
export function rankFiles(hits: readonly Hit[]): readonly RankedFile[] {
  const filesByTerm = Map.groupBy(hits, (hit) => hit.term);
  const rarity = (term: string): number => 1 / (filesByTerm.get(term)?.length ?? 1);
  const weights = new Map<string, number>();
  for (const hit of hits) {
    const weight = rarity(hit.term) * (1 + Math.log2(hit.count));
    weights.set(hit.path, (weights.get(hit.path) ?? 0) + weight);
  }
  return [...weights]
    .map(([path, weight]) => ({ path, weight }))
    .toSorted((a, b) => b.weight - a.weight || a.path.localeCompare(b.path));
}

/** Drops kinds of file the request does not speak of: declarations, and prose. */
export function ofWantedKinds(
  files: readonly RankedFile[],
  wanted: { readonly types: boolean; readonly prose: boolean },
): readonly RankedFile[] {
  return files.filter(({ path }) => {
    if (path.endsWith('.md')) return wanted.prose;
    if (path.endsWith('.d.ts')) return wanted.types;
    return /\.(js|ts|mjs|lua)$/.test(path);
  });
}

/** The files within `share` of the heaviest one's weight, at most `most` of them. */
export function heaviest(files: readonly RankedFile[], share: number, most: number): readonly string[] {
  const limit = (files[0]?.weight ?? 0) * share;
  return files
    .filter((file) => file.weight >= limit)
    .slice(0, most)
    .map((file) => file.path);
}
