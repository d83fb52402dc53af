import { noticed } from './expert.ts';
import { keyTerms, wantedKinds } from './key-terms.ts';
import { answer, shell } from './policy.ts';
import type { Policy } from './policy.ts';
import { heaviest, ofWantedKinds, rankFiles } from './rank-files.ts';
import { countCommand, parseHits } from './search-hits.ts';

/** Calls in one step; platforms send them at the same time. */
const atOnce = 4;

/** Searches several terms in parallel, one call each, and trusts the counts without opening a file. */
export const parallelReader: Policy = {
  name: 'parallel',
  skill: `${atOnce} searches at once, never opens a file`,
  async play(sight, act, random) {
    const terms = noticed(keyTerms(sight.request), random).slice(0, atOnce - 1);
    const searches = terms.map((term) => shell(countCommand([term], { skipTests: true })));
    const layout = shell('cd repo && ls -p && du -s .');
    const outputs = await act([...searches, layout, ...padding(atOnce - 1 - searches.length)]);
    const hits = outputs.slice(0, searches.length).flatMap(parseHits);
    const ranked = ofWantedKinds(rankFiles(hits), wantedKinds(sight.request));
    const recount = await act([shell(countCommand(terms, { skipTests: true }))]);
    const known = new Set(recount.flatMap(parseHits).map((hit) => hit.path));
    return answer(heaviest(ranked, 0.25 + random.next() * 0.3, 5).filter((path) => known.has(path)));
  },
};

/** Few terms still make a full step: the rest of it looks around. */
function padding(count: number) {
  return Array.from({ length: Math.max(0, count) }, () => shell('cd repo && head -c 4000 package.json'));
}
