import { keyTerms } from './key-terms.ts';
import { actOnce, answer, type Policy, readFile, shell } from './policy.ts';
import { rankFiles } from './rank-files.ts';
import { countCommand, parseHits } from './search-hits.ts';

/** Writes arguments that are not JSON, asks for a path that does not exist, and now and then answers in prose. */
export const sloppy: Policy = {
  name: 'sloppy',
  skill: 'malformed arguments, wrong paths, prose instead of JSON',
  async play(sight, act, random) {
    await actOnce(act, { name: 'shell', arguments: '{"command": "ls' });
    await actOnce(act, readFile(`src/${sight.repo}.js`, 1, 50));
    const [term = sight.repo] = keyTerms(sight.request);
    const hits = parseHits(await actOnce(act, shell(countCommand([term], { skipTests: true }))));
    const files = rankFiles(hits)
      .slice(0, 3)
      .map((file) => `./${file.path}`);
    return random.next() < 0.3 ? `I would edit ${files.join(' and ')}.` : answer(files);
  },
};
