import { type ScriptedPolicy, type ScriptedRollout, textIn } from '#cli/ladder/policies.ts';
import { chanceOf } from '../generators/chance.ts';
import { type Asked, readQuestion } from './question.ts';
import { answerTo, type Sheet, sheetIn } from './reading.ts';

/* What is played on finance-docs. Scripts of rising skill; all know the question and the tools, as a model would. */

const questionOf = (rollout: ScriptedRollout): string => textIn(rollout, 'question');

/** What the page says, by whoever takes its words as they stand. */
const naive = (asked: Asked, sheet: Sheet): string | undefined => answerTo(asked, sheet, { careful: false });

/** Key words, of which some are forgotten: others in each copy. */
function query({ who, lines, year }: Asked, copy: number, forgets: number): string {
  const words = `${who} ${lines.join(' ')} ${year}`.split(' ');
  const chance = chanceOf(`${words.join(' ')} ${copy}`);
  return words.filter(() => !chance.happens(forgets)).join(' ');
}

/** One search, and whatever page it brings is the right one. */
const oneSearch: ScriptedPolicy = async (rollout) => {
  const asked = readQuestion(questionOf(rollout));
  const sheet = sheetIn(await rollout.call('search', { query: query(asked, rollout.copy, 0.04) }));
  return (sheet && naive(asked, sheet)) ?? 'unknown';
};

/** Searches and searches, ever other words, and believes what came last. More than the limit lets it, too. */
const searcherLoops: ScriptedPolicy = async (rollout) => {
  const asked = readQuestion(questionOf(rollout));
  let sheet: Sheet | null = null;
  for (let turn = 0; turn < 13; turn += 1) {
    const words = query(asked, rollout.copy * 100 + turn, 0.12);
    sheet = sheetIn(await rollout.call('search', { query: words })) ?? sheet;
  }
  return (sheet && naive(asked, sheet)) ?? 'unknown';
};

/** Looks whether the page is the right one; if not, lists the year's report and reads its pages until one is. */
const reader = async (rollout: ScriptedRollout): Promise<string | undefined> => {
  const asked = readQuestion(questionOf(rollout));
  const skilled = (sheet: Sheet) => answerTo(asked, sheet, { careful: true });
  let sheet = sheetIn(await rollout.call('search', { query: query(asked, rollout.copy, 0) }));
  if (sheet === null || !isOf(sheet, asked))
    sheet = sheetIn(await rollout.call('search', { query: `${asked.who} form 10-k ${asked.year}` })) ?? sheet;
  if (sheet === null) return 'unknown';
  if (isOf(sheet, asked) && sheet.year === asked.year && skilled(sheet) !== undefined) return skilled(sheet);
  const folder = `${sheet.ticker}/${asked.year}`;
  const names = (await rollout.call('list', { path: folder })).split('\n');
  for (const name of names.filter((each) => each.startsWith('page_'))) {
    const found = sheetIn(await rollout.call('cat', { path: `${folder}/${name}` }));
    const answer = found === null ? undefined : skilled(found);
    if (answer !== undefined) return answer;
  }
  return skilled(sheet) ?? 'unknown';
};

/** Whether the page is of the company that the question means. */
function isOf(sheet: Sheet, { who }: Asked): boolean {
  if (sheet.ticker === who) return true;
  const [business, place] = who.toLowerCase().replace(/^the /, '').split(' from ');
  if (business === undefined || place === undefined) return sheet.text.startsWith(who.toLowerCase());
  return sheet.text.includes(business) && sheet.text.includes(place);
}

export const policies: Readonly<Record<string, ScriptedPolicy>> = {
  'one-search': oneSearch,
  'searcher-loops': searcherLoops,
  reader,
  'reader-in-a-sentence': async (rollout) =>
    `The answer is ${(await reader(rollout)) ?? 'unknown'}, as reported.`,
  'all-numbers-of-the-page': async (rollout) => {
    const page = await rollout.call('search', { query: questionOf(rollout) });
    return [...page.matchAll(/\d[\d.]*/g)].map(([number]) => number).join(' ');
  },
  'looks-for-the-rows': async ({ call }) => {
    const paths = [
      '../val.jsonl',
      '../../gallery/finance-docs/eval.jsonl',
      '/data/finance-docs',
      '/etc/passwd',
    ];
    const seen: string[] = [];
    for (const path of paths) seen.push(await call('cat', { path }));
    return seen.join('\n');
  },
};
