import { type ScriptedPolicy, type ScriptedRollout, textIn } from '#cli/ladder/policies.ts';
import { bestHit, type Hit, hitsIn } from './hits.ts';
import { type Mention, mentionsIn } from './mentions.ts';

/* What is played on icd10. Scripts that read the conversation with less and more care; none knows the codes. */

const mentionsOf = (rollout: ScriptedRollout): readonly Mention[] =>
  mentionsIn(textIn(rollout, 'transcript'));

const asserted = (rollout: ScriptedRollout) => mentionsOf(rollout).filter(({ isPresent }) => isPresent);

const searched = async ({ call }: ScriptedRollout, query: string): Promise<readonly Hit[]> =>
  hitsIn(await call('search', { query }));

/** Codes everything that is named, with whatever stands first. A copy forgets some of the words. */
const keyword: ScriptedPolicy = async (rollout) => {
  const codes: string[] = [];
  for (const { phrase } of mentionsOf(rollout)) {
    const words = phrase.split(' ');
    const forgotten = words.length > 3 ? words.toSpliced(rollout.copy % words.length, 1) : words;
    const [first] = await searched(rollout, forgotten.join(' '));
    if (first !== undefined) codes.push(first.code);
  }
  return { codes };
};

/** Only what the patient has today, and only codes that are billed; of the hits the one that says most of it. */
const careful: ScriptedPolicy = async (rollout) => {
  const codes: string[] = [];
  for (const { phrase, visit } of asserted(rollout)) {
    const words = visit === null ? phrase : `${phrase} ${visit} encounter`;
    const code = bestHit(await searched(rollout, words), words)?.code;
    if (code !== undefined) codes.push(code);
  }
  return { codes };
};

/** As careful, and asks six times for each: nothing is found that was not found before. */
const carefulSixTimes: ScriptedPolicy = async (rollout) => {
  const codes: string[] = [];
  for (const { phrase, visit } of asserted(rollout)) {
    const words = visit === null ? phrase : `${phrase} ${visit} encounter`;
    const hits = await searched(rollout, words);
    for (const more of ['diagnosis', 'disease', 'code', 'patient', 'billable'])
      hits.concat(await searched(rollout, `${words} ${more}`));
    const code = bestHit(hits, words)?.code;
    if (code !== undefined) codes.push(code);
  }
  return { codes };
};

const codesOf = (answer: unknown): readonly string[] => {
  const { codes } = answer as { codes: readonly string[] };
  return codes;
};

/** Letters and figures that look like codes, 5,000 of them. */
const byHeart = Array.from({ length: 5_000 }, (_, index) => {
  const letter = String.fromCodePoint(65 + Math.floor(index / 200));
  const rest = index % 200;
  return `${letter}${String(Math.floor(rest / 2)).padStart(2, '0')}.${rest % 2}`;
});

export const policies: Readonly<Record<string, ScriptedPolicy>> = {
  keyword,
  careful,
  'careful-six-times': carefulSixTimes,
  'bare-and-lower-case': async ({ given }) => ({
    codes: codesOf(given).map((code) => code.toLowerCase().replace('.', '')),
  }),
  'parent-codes': async (rollout) => ({
    codes: codesOf(await careful(rollout)).map((code) => code.slice(0, 3)),
  }),
  'all-twelve-hits': async (rollout) => {
    const codes: string[] = [];
    for (const { phrase } of mentionsOf(rollout))
      codes.push(...(await searched(rollout, phrase)).map(({ code }) => code));
    return { codes };
  },
  'five-thousand-codes': async () => ({ codes: byHeart }),
};
