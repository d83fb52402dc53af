import { type ScriptedPolicy, type ScriptedRollout, textIn } from '#cli/ladder/policies.ts';
import { chanceOf } from '../generators/chance.ts';
import { factsIn, type Snippet, snippetsIn } from './facts.ts';
import { type Inquiry, readInquiry } from './inquiry.ts';

/* What is played on code-research. Scripts that search and read as somebody does who knows JavaScript; none knows the packages. */

const inquiryOf = (rollout: ScriptedRollout): Inquiry => readInquiry(textIn(rollout, 'question'));

const search = async ({ call }: ScriptedRollout, query: string): Promise<readonly Snippet[]> =>
  snippetsIn(await call('search', { query }));

/** The question as it is put; a copy forgets some of its words. */
function asPut(rollout: ScriptedRollout): string {
  const words = textIn(rollout, 'question').match(/[\w$]+/g) ?? [];
  const chance = chanceOf(`${words.join(' ')} ${rollout.copy}`);
  return words.filter(() => !chance.happens(0.15)).join(' ');
}

/** What the first six snippets say. */
const oneSearch: ScriptedPolicy = async (rollout) => {
  const inquiry = inquiryOf(rollout);
  return { facts: factsIn(inquiry, await search(rollout, asPut(rollout))) };
};

const pageLines = 150;
const mostPages = 4;

/** A file from its top, as far as anybody reads. */
async function read({ call }: ScriptedRollout, path: string): Promise<Snippet> {
  const pages: string[] = [];
  for (let page = 0; page < mostPages; page += 1) {
    const range = { from_line: page * pageLines + 1, to_line: (page + 1) * pageLines };
    const text = await call('retrieve', { path, ...range });
    if (text.startsWith('Error')) break;
    pages.push(text.replaceAll(/^\d+\t/gm, ''));
    if (text.split('\n').length < pageLines) break;
  }
  return { path, from: 1, text: pages.join('\n') };
}

/** Reads the file that is asked about; else searches in the words that source has, until something says it. */
const researcher: ScriptedPolicy = async (rollout) => {
  const inquiry = inquiryOf(rollout);
  const seen: Snippet[] = [];
  if (inquiry.readsFile) seen.push(await read(rollout, inquiry.subject));
  for (const query of inquiry.queries) {
    const enough = inquiry.wantsOne && factsIn(inquiry, seen).length > 0;
    if (!enough && (!inquiry.readsFile || factsIn(inquiry, seen).length === 0))
      seen.push(...(await search(rollout, query)));
  }
  if (inquiry.wantsOne && factsIn(inquiry, seen).length === 0)
    for (const { path, from } of seen.slice(0, 2)) seen.push(await readAround(rollout, path, from));
  return { facts: factsIn(inquiry, seen) };
};

/** A snippet ends where it ends: what it means may stand above or below. */
async function readAround({ call }: ScriptedRollout, path: string, from: number): Promise<Snippet> {
  const range = { from_line: Math.max(1, from - 30), to_line: from + 60 };
  const text = await call('retrieve', { path, ...range });
  return { path, from: range.from_line, text: text.replaceAll(/^\d+\t/gm, '') };
}

/** The same skill, and no sense of when to stop. */
const longTail: ScriptedPolicy = async (rollout) => {
  const inquiry = inquiryOf(rollout);
  const chance = chanceOf(`${inquiry.subject} ${rollout.copy}`);
  const aside = ['overview', 'types', 'options', 'examples', 'tests', 'changes', 'errors', 'usage'];
  for (const word of chance.some(aside, chance.integer(2, aside.length)))
    await search(rollout, `${inquiry.subject} ${word}`);
  return researcher(rollout);
};

/** Every identifier and path that three searches show, most of which answer nothing. */
const everyIdentifier: ScriptedPolicy = async (rollout) => {
  const inquiry = inquiryOf(rollout);
  const seen: string[] = [];
  for (const query of [...inquiry.queries, inquiry.subject].slice(0, 3))
    seen.push(await rollout.call('search', { query }));
  const words = seen.join('\n').match(/[\w$./:-]{2,}/g) ?? [];
  return { facts: [...new Set(words)].toSorted() };
};

/** What is mostly right of any package. */
const readmeGuesser: ScriptedPolicy = async (rollout) => {
  await search(rollout, 'README overview');
  const likely = [
    'index.js',
    'lib/index.js',
    'lib/errors.js',
    'options',
    'name',
    'default',
    'true',
    'false',
    '500',
    'error',
    'close',
  ];
  return { facts: likely };
};

export const policies: Readonly<Record<string, ScriptedPolicy>> = {
  'one-search': oneSearch,
  researcher,
  'long-tail': longTail,
  'every-identifier': everyIdentifier,
  'readme-guesser': readmeGuesser,
  'all-facts-by-heart': async ({ given }) => given,
};
