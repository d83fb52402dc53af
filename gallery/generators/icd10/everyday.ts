import { isBillable, isCode } from './source.ts';
import type { Entry } from './tabular.ts';

const wordsOf = (text: string): readonly string[] => text.trim().split(/\s+/);

/** Categories that a family doctor's day is made of: what lasts, what comes and goes, and what has just happened. */
const everyday = {
  lasting: wordsOf(`
    I10 E11 E78 E03 E66 J44 J45 M17 M16 M10 M81 I48 I25 N18 K21 G43 F32 F33 F41 L40 G47 N40 H40 K58
    I83 M54 E05 D50 G40 I50 K50 M05 G20 B18
  `),
  passing: wordsOf(`
    J01 J02 J03 J20 J18 H66 H10 H60 N30 K29 K59 L03 L02 B35 B37 L23 L50 M75 M76 M77 R05 R10 R51 H61
    K64 K12 L60 L70 N76 M65 A09 B02 K57 H00 R20
  `),
  injuries: wordsOf(`
    S52 S62 S82 S92 S93 S83 S61 S81 S60 S80 S01 S00 S43 S63 T15 T16 S90 S91
  `),
} as const;

export type Kind = keyof typeof everyday;

/** A code of everyday practice, and how it may be called. */
export type Condition = {
  readonly code: string;
  readonly phrases: readonly [string, ...string[]];
  /** `initial` or `subsequent`, of an injury; null of what has no such thing. */
  readonly visit: 'initial' | 'subsequent' | null;
  /** Codes of the same parent: what another coder may take instead. */
  readonly siblings: readonly string[];
};

/** Every condition of a kind; what only says that it is unspecified, or other, has no name that a patient would hear. */
export function conditionsOf(entries: readonly Entry[], kind: Kind): readonly Condition[] {
  const categories = new Set<string>(everyday[kind]);
  return entries
    .filter((entry) => isCode(entry) && isBillable(entry) && categories.has(entry.code.slice(0, 3)))
    .flatMap((entry) => conditionOf(entry) ?? []);
}

const vague = /\b(unspecified|other|nec|elsewhere|sequela|open|unsp)\b/i;
const longestPhrase = 90;

function conditionOf(entry: Entry): Condition | null {
  const visit = visitOf(entry);
  if (visit === undefined) return null;
  const named = entry.encounter === null ? entry : entry.parent;
  if (named === null) return null;
  const said = [...named.terms, ...(named.terms.length > 0 ? [] : [named.title])];
  const [first, ...more] = [...said, named.title].map(plain).filter((phrase) => isSaid(phrase));
  if (first === undefined) return null;
  const siblings = (named.parent?.children ?? []).flatMap((each) => likeIt(each, entry));
  return { code: entry.code, phrases: [first, ...more], visit, siblings };
}

const isSaid = (phrase: string): boolean => !vague.test(phrase) && phrase.length <= longestPhrase;

/** Of injuries only the first visit and the next ones that go well; undefined: a visit that is not played. */
function visitOf({ encounter }: Entry): Condition['visit'] | undefined {
  if (encounter === null) return null;
  if (/^initial encounter(?: for closed fracture)?$/.test(encounter)) return 'initial';
  return /^subsequent encounter(?: for fracture with routine healing)?$/.test(encounter)
    ? 'subsequent'
    : undefined;
}

function likeIt(sibling: Entry, entry: Entry): readonly string[] {
  const same = sibling.children.find(({ encounter }) => encounter === entry.encounter);
  const code = isBillable(sibling) ? sibling.code : same?.code;
  return code === undefined || code === entry.code ? [] : [code];
}

/** "hypertension (arterial) (benign)" is said "hypertension"; commas and stops would end a sentence. */
const plain = (text: string): string =>
  text
    .replaceAll(/\([^)]*\)|\[[^\]]*\]/g, '')
    .replaceAll(/\bNOS\b/g, '')
    .replaceAll(/[,;:.]/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
    .replace(/^[A-Z](?=[a-z])/, (letter) => letter.toLowerCase());
