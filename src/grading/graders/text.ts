import type { Json, NumberReading } from '#src/model/grader.ts';
import type { Compared, Leaf, Scored } from './evaluation.ts';
import { answerAt, textsAt } from './compared.ts';

type TextGrader = Leaf<'text'>;

/** Compares the answer with the reference, or with each of several accepted ones: the best match counts. */
export function gradeByText(grader: TextGrader, { sample, item }: Compared): Scored {
  const accepted = textsAt(item, grader.reference);
  const answer = textOf(answerAt(sample, grader.answer));
  const scores = accepted.map((reference) => (answer === null ? 0 : match(grader, answer, reference)));
  const score = Math.max(0, ...scores);
  const reason = reasonOf(grader, answer, score);
  return {
    kind: 'scored',
    score,
    detail: { kind: 'text', match: grader.match, score, reason },
    suspected: null,
  };
}

function reasonOf({ match: how, answer: path }: TextGrader, answer: string | null, score: number): string {
  if (answer === null) return `nothing was answered in ${path}`;
  if (score === 1) return `matches (${how})`;
  return score > 0 ? `is near (${how})` : `does not match (${how})`;
}

function textOf(answer: Json | undefined): string | null {
  if (typeof answer === 'string') return answer;
  return typeof answer === 'number' || typeof answer === 'boolean' ? String(answer) : null;
}

function match(grader: TextGrader, answer: string, reference: string): number {
  switch (grader.match) {
    case 'exact':
      return answer.trim() === reference.trim() ? 1 : 0;
    case 'normalised':
      return !isFarLonger(answer, reference) && normalise(answer) === normalise(reference) ? 1 : 0;
    case 'numeric':
      return closeness(answer, reference, grader);
  }
}

/**
 * Nobody means the reference by a text so much longer, whatever of it is white space and punctuation; looking for that costs
 * many times what reading it does (one character can be eighteen in its plain form).
 */
const isFarLonger = (answer: string, reference: string): boolean =>
  answer.length > 16 * reference.length + 10_000;

// The minus of a number and the percent sign are no decoration: "-5", "5" and "5%" are three answers.
const punctuation = /(?!(?<!\w)-\d)(?!%)\p{P}/gu;

/**
 * Case, white space, punctuation and English articles make no difference. A text of nothing else is compared as it is,
 * so that "!" does not equal "?".
 */
function normalise(text: string): string {
  const plain = text.normalize('NFKC').toLowerCase().trim();
  const words = plain.replaceAll(punctuation, ' ').replaceAll(/\b(?:a|an|the)\b/g, ' ');
  const bare = words.split(/\s+/u).filter((word) => word !== '');
  return bare.length === 0 ? plain : bare.join(' ');
}

type Within = Pick<Leaf<'text'>, 'tolerance' | 'partialWithin' | 'partial' | 'reading'>;

/** What arithmetic in binary loses (1.1 / 100 is not 0.011); far below any tolerance that an author means. */
const roundingError = 1e-9;

/**
 * How near an answer's number is to the reference's: 1 inside the relative tolerance, 0 from `partialWithin` on, and a
 * straight line between, or with `partial` one step. No number in either, or two different units, is 0. Beside a reference
 * of 0, distance is absolute.
 */
function closeness(answer: string, reference: string, within: Within): number {
  const pattern = patternOf(within.reading ?? {});
  const given = parseAmount(answer, pattern);
  const wanted = parseAmount(reference, pattern);
  if (given === null || wanted === null || unitsDiffer(given, wanted)) return 0;
  const scale = wanted.value === 0 ? 1 : Math.abs(wanted.value);
  const distance = Math.abs(given.value - wanted.value) / scale;
  if (distance <= within.tolerance + roundingError) return 1;
  return within.partial === undefined
    ? slope(distance, within)
    : step(distance, within.partial, given, wanted);
}

function step(
  distance: number,
  partial: NonNullable<Within['partial']>,
  given: Amount,
  wanted: Amount,
): number {
  const isNear = distance <= partial.within + roundingError;
  return isNear || (partial.rounding && isRounding(given, wanted)) ? partial.worth : 0;
}

/** Of one digit anything is a rounding: "0" would be half right for every ratio below a half. */
const fewestDigits = 2;

/** Whether the one that is written less finely is the other, rounded to its last digit. */
function isRounding(one: Amount, other: Amount): boolean {
  const coarse = one.stepSize >= other.stepSize ? one : other;
  const apart = Math.abs(one.value - other.value);
  return coarse.digits >= fewestDigits && apart <= (coarse.stepSize / 2) * (1 + roundingError);
}

function slope(distance: number, { tolerance, partialWithin }: Within): number {
  if (!(distance < partialWithin)) return 0;
  return (partialWithin - distance) / (partialWithin - tolerance);
}

/** A unit on one side only is tolerated: "32" answers "$32". */
const unitsDiffer = (a: Amount, b: Amount): boolean =>
  a.unit !== null && b.unit !== null && a.unit !== b.unit;

/** A number as people write it, with its unit in lower case and singular; null where it has none. */
type Amount = {
  readonly value: number;
  readonly unit: string | null;
  /** What one more of its last written digit is worth. */
  readonly stepSize: number;
  /** Significant digits as written. */
  readonly digits: number;
};

const number = String.raw`(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[+-]?\d+)?|\.\d+(?:e[+-]?\d+)?`;
const currency = String.raw`[$€£¥]`;
const magnitude = 'thousand|million|billion|trillion';
/** No text has it: what an author did not list is not read. */
const never = '(?!)';

/**
 * Sign, currency and sign in either order, the number, then: a magnitude, and a unit of letters or symbols. What an author lists
 * is letters only, see the schema.
 */
function patternOf({ magnitudes = [], currencies: codes = [] }: NumberReading): RegExp {
  const symbols = [currency, ...codes, ...(codes.includes('usd') ? [String.raw`us\$`] : [])].join('|');
  const short = magnitudes.length === 0 ? never : magnitudes.toSorted(longestFirst).join('|');
  return new RegExp(
    String.raw`^(?<before>[+-])?\s*(?<symbol>${symbols})?\s*(?<after>[+-])?(?<number>${number})` +
      String.raw`(?:\s*(?<percent>%|percent\b)|\s+(?<magnitude>${magnitude})\b|\s*(?<short>${short})\b)?` +
      String.raw`\s*(?<unit>${currency}|°?[a-zµ]+(?:[/ ][a-z]+)?[23²³]?)?$`,
  );
}

const longestFirst = (a: string, b: string): number => b.length - a.length;

const factors: Readonly<Record<string, number>> = {
  thousand: 1e3,
  million: 1e6,
  billion: 1e9,
  trillion: 1e12,
  k: 1e3,
  m: 1e6,
  mm: 1e6,
  mn: 1e6,
  b: 1e9,
  bn: 1e9,
  t: 1e12,
  tn: 1e12,
};

const currencies: Readonly<Record<string, string>> = {
  $: 'usd',
  us$: 'usd',
  dollar: 'usd',
  '€': 'eur',
  euro: 'eur',
  '£': 'gbp',
  '¥': 'jpy',
  yen: 'jpy',
};

/** "5k" and "$5m" are abbreviated magnitudes, and not the number 5 with a unit. */
const abbreviation = /^(?:k|mn|bn|tn|mio|mrd)$/;

/** Longer than any amount; it bounds the matching of what a model wrote. */
const longest = 100;

/**
 * Reads "7%" (0.07), "$32", "1,234.5", "1.2e3", "3 million", "(5)" (−5) and "12 km". Null where it is not surely one
 * number: prose, two numbers, a fraction, "1,23". Strict, because a guess here is a score that the model did not earn.
 */
function parseAmount(text: string, pattern: RegExp): Amount | null {
  if (text.length > longest) return null;
  const plain = text.normalize('NFKC').replaceAll('−', '-').trim().toLowerCase().replace(/\.$/, '');
  const bracketed = /^\((?<inside>[^-+()]+)\)$/.exec(plain)?.groups?.['inside'];
  const groups = pattern.exec((bracketed ?? plain).trim())?.groups;
  if (groups === undefined || isAbbreviated(groups)) return null;
  const signs = [groups['before'], groups['after']].filter((sign) => sign !== undefined);
  if (signs.length > 1) return null;
  const negative = bracketed !== undefined || signs[0] === '-';
  const factor = factorOf(groups);
  const written = (groups['number'] ?? '').replaceAll(',', '');
  const value = Number(written) * factor * (negative ? -1 : 1);
  return Number.isFinite(value) ? { value, unit: unitOf(groups), ...finenessOf(written, factor) } : null;
}

/** `1.20e3` has three digits, of which the last is worth ten. */
function finenessOf(written: string, factor: number): Pick<Amount, 'stepSize' | 'digits'> {
  const [mantissa = '', exponent = '0'] = written.split('e');
  const decimals = mantissa.split('.')[1]?.length ?? 0;
  const digits = mantissa.replace('.', '').replace(/^0+/, '').length;
  return { stepSize: 10 ** (Number(exponent) - decimals) * factor, digits };
}

type Groups = Readonly<Record<string, string | undefined>>;

function isAbbreviated({ symbol, unit }: Groups): boolean {
  if (unit === undefined) return false;
  return abbreviation.test(unit) || (symbol !== undefined && unitOf({ unit }) !== unitOf({ symbol }));
}

function factorOf(groups: Groups): number {
  if (groups['percent'] !== undefined) return 1 / 100;
  return factors[groups['magnitude'] ?? groups['short'] ?? ''] ?? 1;
}

function unitOf(groups: Groups): string | null {
  const written = groups['symbol'] ?? groups['unit'];
  if (written === undefined) return null;
  const singular = written.length > 3 ? written.replace(/s$/, '') : written;
  return currencies[singular] ?? singular;
}
