import { noticed } from './expert.ts';
import { keyTerms, wantedKinds } from './key-terms.ts';
import { answer, type Policy, readFile, shell, type ToolUse } from './policy.ts';
import { heaviest, ofWantedKinds, rankFiles } from './rank-files.ts';
import { countCommand, parseHits } from './search-hits.ts';

/** Calls in the first step; platforms send them at the same time. */
const atOnce = 4;

/** Searches terms in parallel, one call each; then looks, again in parallel, whether the likely files are generated. */
export const parallelReader: Policy = {
  name: 'parallel',
  skill: `${atOnce} searches at once, then the heads of the likely files at once`,
  async play(sight, act, random) {
    const terms = noticed(keyTerms(sight.request), random).slice(0, atOnce - 1);
    const searches = terms.map((term) => shell(countCommand([term], { skipTests: true })));
    const outputs = await act(filledUp(searches));
    const hits = outputs.slice(0, searches.length).flatMap(parseHits);
    const ranked = ofWantedKinds(rankFiles(hits), wantedKinds(sight.request));
    const likely = heaviest(ranked, 0.25 + random.next() * 0.3, 5);
    const heads = await act(likely.map((path) => readFile(path, 1, 10)));
    return answer(likely.filter((_, index) => !/generated/i.test(heads[index] ?? '')));
  },
};

/** Few terms still make a full step: the rest of it looks around. */
function filledUp(searches: readonly ToolUse[]): readonly ToolUse[] {
  const around = [
    shell('cd repo && ls -p'),
    shell('cd repo && du -s .'),
    shell('cd repo && wc -c package.json'),
  ];
  return [...searches, ...around].slice(0, atOnce);
}
