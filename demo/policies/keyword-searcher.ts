import { keyTerms } from './key-terms.ts';
import { actOnce, answer, type Policy, shell } from './policy.ts';
import { rankFiles } from './rank-files.ts';
import { countCommand, parseHits } from './search-hits.ts';
import { shuffled } from '../seeded-random.ts';

/** Searches one word, counts it a second time in the whole tree, and answers with whatever came first. */
export const keywordSearcher: Policy = {
  name: 'keyword',
  skill: 'searches one word, answers with what came first',
  async play(sight, act, random) {
    const [term = sight.repo] = shuffled(keyTerms(sight.request), random);
    const hits = parseHits(await actOnce(act, shell(countCommand([term], { skipTests: false }))));
    await actOnce(act, shell('cd repo && ls -R . | head -n 200'));
    const most = 2 + Math.floor(random.next() * 4);
    return answer(
      rankFiles(hits)
        .slice(0, most)
        .map((file) => file.path),
    );
  },
};
