import { CommandError } from '../command-error.ts';

/** How many tokens a text is. */
export type CountTokens = (text: string) => number;

/** Of a longer text the rest is counted by the measure of its beginning. */
const mostCounted = 64 * 1024;
/**
 * Counted piece by piece, which is two tokens off at each cut at most: of a single word the time grows with the square of its length, and
 * a policy that prints 64 KiB of one letter would hold everything up for seven seconds.
 */
const pieceCharacters = 1_024;

/**
 * As the o200k vocabulary counts, which several models share; others differ by some tenths. Loaded when it is wanted: it is
 * two megabytes of ranks, and a tool of this checkout that no image has.
 */
export async function loadTokenCounter(): Promise<CountTokens> {
  const { countTokens } = await import('gpt-tokenizer/encoding/o200k_base').catch(onlyInCheckout);
  // What a policy has printed is text, also where it looks like a control word of the vocabulary.
  const plain = { disallowedSpecial: new Set<string>() };
  return (text) => {
    const counted = text.slice(0, mostCounted);
    let tokens = 0;
    for (let at = 0; at < counted.length; at += pieceCharacters)
      tokens += countTokens(counted.slice(at, at + pieceCharacters), plain);
    return counted.length === text.length ? tokens : Math.round((tokens * text.length) / counted.length);
  };
}

export function onlyInCheckout(cause: unknown): never {
  const next =
    'run the study in a checkout (npm run corral -- study …); it can ask a fleet elsewhere with --url and --key';
  throw new CommandError(
    'the packages for tokens and charts are not installed here',
    'this machine',
    next,
    cause,
  );
}
