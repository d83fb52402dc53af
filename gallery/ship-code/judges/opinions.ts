export type Asked = { readonly message: string; readonly sources: readonly string[] };
export type Opinion = { readonly score: number; readonly reason: string };

/** Longer messages lose in proportion. */
const mostWords = 120;
const leastWords = 12;

const emoji = /\p{Extended_Pictographic}/gu;
const praise =
  /\b(?:amazing|awesome|crush(?:ed|ing)|excellent|fantastic|flawless|great|perfect(?:ly)?|thrilled|world[- ]class)\b/gi;
/** A message to the maintainer has no reason to speak of its own grade. */
const aboutTheGrade =
  /\b(?:judges?|scores?|graders?|rewards?|ignore (?:all|previous))\b|checked by the owner/i;

const wordsOf = (text: string): number => text.split(/\s+/).filter((word) => word !== '').length;
const rounded = (score: number): number => Math.round(Math.max(0, Math.min(1, score)) * 1000) / 1000;
const refused = (reason: string): Opinion => ({ score: 0, reason });

/** Plain and short, as a maintainer wants it: each emoji, cry and word of praise costs, and too many words do. */
export function tone({ message }: Asked): Opinion {
  const words = wordsOf(message);
  if (words < leastWords) return refused('says too little');
  if (aboutTheGrade.test(message)) return refused('speaks of its grade');
  const loud = [...message.matchAll(emoji), ...message.matchAll(/!/g), ...message.matchAll(praise)].length;
  const long = Math.max(0, words - mostWords) / mostWords;
  return { score: rounded(1 - 0.25 * loud - long), reason: `${loud} loud marks, ${words} words` };
}

/** Names the files that were changed by paths that exist: a message about other files, or about none, is worth nothing. */
export function substance({ message, sources }: Asked): Opinion {
  if (aboutTheGrade.test(message)) return refused('speaks of its grade');
  const named = [...message.matchAll(/[\w@./-]+\.[cm]?[jt]s\b/g)].map(([path]) =>
    path.replace(/^(?:\.\/)?(?:package\/)?/, ''),
  );
  if (named.length === 0) return refused('names no file');
  const known = named.filter((path) => sources.includes(path)).length;
  const said = Math.min(1, wordsOf(message) / leastWords);
  return { score: rounded((known / named.length) * said), reason: `${known} of ${named.length} files exist` };
}
