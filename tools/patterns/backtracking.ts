/**
 * Whether a regular expression could cost more than its text is long. Conservative, and simple enough to be believed: an
 * engine that backtracks is linear for certain where at most one quantifier has no bound, that one repeats a single
 * character or class, and either the match begins at the text's start, or nothing behind the quantifier can fail.
 */

/** Counted repeats up to here are a constant. */
const smallRepeat = 256;

/** Why it could; null where it cannot. */
export function backtracking(pattern: string, flags: string): string | null {
  const found = unboundedIn(pattern);
  const [only, ...others] = found;
  if (only === undefined) return null;
  if (others.length > 0) return `${found.length} quantifiers without a bound`;
  if (only.ofGroup) return 'a quantifier without a bound repeats a group';
  const isAnchored = pattern.startsWith('^') && !flags.includes('m') && !hasTopLevelChoice(pattern);
  if (isAnchored || only.isLast) return null;
  return 'it may begin anywhere, and what stands behind its quantifier can fail';
}

type Unbounded = { readonly ofGroup: boolean; readonly isLast: boolean };

const token =
  /\\[pPuk]\{[^}]{0,99}\}|\\.|\[(?:\\.|[^\]\\]){0,999}\]|\{\d{1,9}(?:,\d{0,9})?\}|\(\?(?:<?[=!]|:|<\w{1,99}>)|[^]/gu;

const tokensOf = (pattern: string): readonly string[] => pattern.match(token) ?? [];

function unboundedIn(pattern: string): readonly Unbounded[] {
  const tokens = tokensOf(pattern);
  return tokens.flatMap((each, index) => {
    if (!isUnbounded(each)) return [];
    const rest = tokens.slice(index + 1);
    return [
      { ofGroup: tokens[index - 1] === ')', isLast: rest.every((after) => after === ')' || after === '?') },
    ];
  });
}

function isUnbounded(token: string): boolean {
  if (token === '*' || token === '+') return true;
  const [, least, comma, most] = /^\{(\d{1,9})(,?)(\d{0,9})\}$/.exec(token) ?? [];
  if (least === undefined) return false;
  return comma === ',' && most === '' ? true : Number(most === '' ? least : most) > smallRepeat;
}

/** `^a|b*c`: the start binds the first choice only. */
function hasTopLevelChoice(pattern: string): boolean {
  let depth = 0;
  for (const each of tokensOf(pattern)) {
    if (each.startsWith('(')) depth += 1;
    else if (each === ')') depth -= 1;
    else if (each === '|' && depth === 0) return true;
  }
  return false;
}
