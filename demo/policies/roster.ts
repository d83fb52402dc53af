import type { Random } from '#src/ports/random.ts';
import { shuffled } from '../seeded-random.ts';
import { actOnce, answer, type Policy, readFile, shell, type ToolUse } from './policy.ts';
import {
  countCommand,
  heaviest,
  keyTerms,
  ofWantedKinds,
  parseHits,
  rankFiles,
  shellQuoted,
  wantedKinds,
} from './searching.ts';

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
function noticed(terms: readonly string[], random: Random): readonly string[] {
  const seen = terms.filter(() => random.next() >= overlooked);
  return seen.length > 0 ? seen : terms.slice(0, 1);
}

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

/** More calls than the environment gives for free (12), so that the penalty of its grader shows. */
const fewestCalls = 14;

/** As good a searcher as the expert, but opens one file after the other long after it knows enough. */
export const overCaller: Policy = {
  name: 'over-caller',
  skill: 'finds the files but spends calls beyond the budget',
  async play(sight, act, random) {
    const terms = keyTerms(sight.request);
    const hits = parseHits(await actOnce(act, shell(countCommand(terms, { skipTests: true }))));
    const ranked = ofWantedKinds(rankFiles(hits), wantedKinds(sight.request));
    const calls = fewestCalls + Math.floor(random.next() * 5);
    for (let call = 1; call < calls; call += 1) {
      const path = ranked[call % Math.max(1, ranked.length)]?.path ?? 'package.json';
      await actOnce(act, shell(`cd repo && head -n ${20 * call} ${shellQuoted(path)}`));
    }
    return answer(heaviest(ranked, 0.3, 5));
  },
};

/** Paths that exist in many packages. */
const usual = ['index.js', 'README.md', 'index.d.ts', 'lib/index.js', 'package.json'];

/** Reads the README's beginning and names usual paths and such as the README mentions. */
export const guesser: Policy = {
  name: 'guesser',
  skill: 'reads the README only',
  async play(_sight, act, random) {
    const readme = await actOnce(act, shell('cd repo && head -c 12000 README.md'));
    const mentioned = readme.match(/\b(?:lib|dist|docs)\/[\w./-]+\w/g) ?? [];
    const guesses = new Set(shuffled([...mentioned.slice(0, 3), ...usual], random).slice(0, 3));
    return answer([...guesses]);
  },
};

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

/** Eight copies of a task hold each script at least once, so that every group has a spread to learn from. */
const roster = [expert, parallelReader, keywordSearcher, expert, overCaller, guesser, sloppy, parallelReader];

/** The scripts by name, for the report's legend. */
export const policies: readonly Policy[] = [...new Set(roster)];

/** Which script plays copy number `copy` (from 0) of a task. */
export function policyOf(copy: number): Policy {
  return roster[copy % roster.length] ?? expert;
}
