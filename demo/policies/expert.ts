import type { Random } from '#src/ports/random.ts';
import { keyTerms, wantedKinds } from './key-terms.ts';
import { actOnce, answer, type Policy, readFile, shell } from './policy.ts';
import { heaviest, ofWantedKinds, rankFiles } from './rank-files.ts';
import { countCommand, parseHits } from './search-hits.ts';

/** Share of requests' terms that even an expert overlooks; it is what makes copies of one task differ. */
const overlooked = 0.12;

/** Counts every key term of the request, opens the likely files to make sure, answers with those that hold. */
export const expert: Policy = {
  name: 'expert',
  skill: 'counts every key term, then opens the likely files',
  async play(sight, act, random) {
    const terms = noticed(keyTerms(sight.request), random);
    const hits = parseHits(await actOnce(act, shell(countCommand(terms, { skipTests: true }))));
    const ranked = ofWantedKinds(rankFiles(hits), wantedKinds(sight.request));
    const likely = heaviest(ranked, 0.12 + random.next() * 0.2, 6);
    const confirmed: string[] = [];
    for (const path of likely) {
      const text = await actOnce(act, readFile(path, 1, 2000));
      if (terms.some((term) => text.includes(term)) || text.includes('bytes cut')) confirmed.push(path);
    }
    return answer(confirmed);
  },
};

/** The terms that were noticed; always at least one. */
export function noticed(terms: readonly string[], random: Random): readonly string[] {
  const seen = terms.filter(() => random.next() >= overlooked);
  return seen.length > 0 ? seen : terms.slice(0, 1);
}
