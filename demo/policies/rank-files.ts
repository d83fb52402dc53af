import type { Hit } from './search-hits.ts';

export type RankedFile = { readonly path: string; readonly weight: number };

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
