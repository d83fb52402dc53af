type Tolerance = { readonly tolerance: number; readonly partialWithin: number };

/** What arithmetic in binary loses (1.1 / 100 is not 0.011); far below any tolerance that an author means. */
const roundingError = 1e-9;

/**
 * How near an answer's number is to the reference's: 1 inside the relative tolerance, 0 from `partialWithin` on, and a
 * straight line between. No number in either, or two different units, is 0. Beside a reference of 0, distance is absolute.
 */
export function closeness(answer: string, reference: string, within: Tolerance): number {
  const given = parseAmount(answer);
  const wanted = parseAmount(reference);
  if (given === null || wanted === null || unitsDiffer(given, wanted)) return 0;
  const scale = wanted.value === 0 ? 1 : Math.abs(wanted.value);
  return credit(Math.abs(given.value - wanted.value) / scale, within);
}

function credit(distance: number, { tolerance, partialWithin }: Tolerance): number {
  if (distance <= tolerance + roundingError) return 1;
  if (!(distance < partialWithin)) return 0;
  return (partialWithin - distance) / (partialWithin - tolerance);
}

/** A unit on one side only is tolerated: "32" answers "$32". */
const unitsDiffer = (a: Amount, b: Amount): boolean =>
  a.unit !== null && b.unit !== null && a.unit !== b.unit;

/** A number as people write it, with its unit in lower case and singular; null where it has none. */
type Amount = { readonly value: number; readonly unit: string | null };

const number = String.raw`(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[+-]?\d+)?|\.\d+(?:e[+-]?\d+)?`;
const currency = String.raw`[$€£¥]`;
const magnitude = 'thousand|million|billion|trillion';

/** sign, currency and sign in either order, the number, then: a magnitude, and a unit of letters or symbols. */
const pattern = new RegExp(
  String.raw`^(?<before>[+-])?\s*(?<symbol>${currency})?\s*(?<after>[+-])?(?<number>${number})` +
    String.raw`(?:\s*(?<percent>%|percent\b)|\s+(?<magnitude>${magnitude})\b)?` +
    String.raw`\s*(?<unit>${currency}|°?[a-zµ]+(?:[/ ][a-z]+)?[23²³]?)?$`,
);

const factors: Readonly<Record<string, number>> = {
  thousand: 1e3,
  million: 1e6,
  billion: 1e9,
  trillion: 1e12,
};

const currencies: Readonly<Record<string, string>> = {
  $: 'usd',
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
function parseAmount(text: string): Amount | null {
  if (text.length > longest) return null;
  const plain = text.normalize('NFKC').replaceAll('−', '-').trim().toLowerCase().replace(/\.$/, '');
  const bracketed = /^\((?<inside>[^-+()]+)\)$/.exec(plain)?.groups?.['inside'];
  const groups = pattern.exec((bracketed ?? plain).trim())?.groups;
  if (groups === undefined || isAbbreviated(groups)) return null;
  const signs = [groups['before'], groups['after']].filter((sign) => sign !== undefined);
  if (signs.length > 1) return null;
  const negative = bracketed !== undefined || signs[0] === '-';
  const value = magnitudeOf(groups) * (negative ? -1 : 1);
  return Number.isFinite(value) ? { value, unit: unitOf(groups) } : null;
}

type Groups = Readonly<Record<string, string | undefined>>;

function isAbbreviated({ symbol, unit }: Groups): boolean {
  if (unit === undefined) return false;
  return abbreviation.test(unit) || (symbol !== undefined && unitOf({ unit }) !== currencies[symbol]);
}

function magnitudeOf(groups: Groups): number {
  const bare = Number((groups['number'] ?? '').replaceAll(',', ''));
  if (groups['percent'] !== undefined) return bare / 100;
  return bare * (factors[groups['magnitude'] ?? ''] ?? 1);
}

function unitOf(groups: Groups): string | null {
  const written = groups['symbol'] ?? groups['unit'];
  if (written === undefined) return null;
  const singular = written.length > 3 ? written.replace(/s$/, '') : written;
  return currencies[singular] ?? singular;
}
