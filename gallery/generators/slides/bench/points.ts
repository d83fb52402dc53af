/* What a deck must say: the sentences of a section that name a term in code. */

export type Point = {
  /** As it stands between backticks. */
  readonly term: string;
  /** The sentence's other words that carry meaning, each once. */
  readonly words: readonly string[];
};

const small = new Set(
  `a about above after all also an and any are as at be because been before being below between both but by can could did do does doing
down during each either few for from further had has have having he her here how i if in into is it its itself just may might more most
must need no nor not now of off on once only or other our out over own same shall she should so some such than that the their them then
there these they this those through to too under until up upon use used using very was we were what when where which while who why will
with within would you your`.split(/\s+/),
);

/** Words of a sentence that are asked for; the others make it readable. */
const isSmall = (word: string): boolean => small.has(word);

export const wordsIn = (text: string): readonly string[] =>
  (text.toLowerCase().match(/[a-z0-9]+(?:['’][a-z]+)?/g) ?? []).map(stem);

/** Plural and singular, and the forms of a verb, are one word. */
const stem = (word: string): string => (isSmall(word) ? word : word.replace(/(?:ing|ed|es|s|e)$/, ''));

/** Text has small words between the others; a list of terms has none. */
export function hasSmallWords(text: string): boolean {
  const all = wordsIn(text);
  return all.filter(isSmall).length >= Math.floor(all.length / 5);
}

const lengths = { fewest: 7, most: 24 } as const;

/** Undefined if a sentence names no term, or is too short or long to be a point. */
export function pointOf(sentence: string): Point | undefined {
  const term = /`([^`]{3,32})`/.exec(sentence)?.[1]?.trim();
  const count = sentence.split(' ').length;
  if (term === undefined || count < lengths.fewest || count > lengths.most || !hasSmallWords(sentence))
    return undefined;
  const ofTerm = new Set(wordsIn(term));
  const words = [...new Set(wordsIn(sentence.replaceAll(/`[^`]*`/g, ' ')))].filter(
    (word) => word.length > 2 && !isSmall(word) && !ofTerm.has(word),
  );
  return words.length >= 4 ? { term, words } : undefined;
}
