/** Places of two calls next to each other; null: the other rollout made no such call there. */
export type Pair = readonly [left: number | null, right: number | null];

/**
 * Puts two lists of calls side by side: the longest sequence that both have, in order, and between its calls what only one has. A
 * null equals nothing. Time and memory grow with the product of both lengths, so callers bound them.
 */
export function align(left: readonly (string | null)[], right: readonly (string | null)[]): readonly Pair[] {
  const numberOf = numbering();
  const one = left.map(numberOf);
  const other = right.map(numberOf);
  const most = longestCommon(one, other);
  const isCommon = (at: number, to: number) => one[at] === other[to];
  const pairs: Pair[] = [];
  const alone: { left: number[]; right: number[] } = { left: [], right: [] };
  const flush = () => {
    for (let at = 0; at < Math.max(alone.left.length, alone.right.length); at += 1)
      pairs.push([alone.left[at] ?? null, alone.right[at] ?? null]);
    alone.left = [];
    alone.right = [];
  };
  let [at, to] = [0, 0];
  while (at < one.length || to < other.length) {
    if (at < one.length && to < other.length && isCommon(at, to)) {
      flush();
      pairs.push([at, to]);
      at += 1;
      to += 1;
    } else if (to >= other.length || (at < one.length && most(at + 1, to) >= most(at, to + 1)))
      alone.left.push(at++);
    else alone.right.push(to++);
  }
  flush();
  return pairs;
}

/** Numbers compare faster than long texts; the same text has the same number, and each null a number of its own. */
function numbering(): (text: string | null) => number {
  const numbers = new Map<string, number>();
  let next = 0;
  return (text) => {
    const known = text === null ? undefined : numbers.get(text);
    if (known !== undefined) return known;
    next += 1;
    if (text !== null) numbers.set(text, next);
    return next;
  };
}

/** Length of the longest sequence that the rest of both lists has in common, from two places on. */
function longestCommon(one: readonly number[], other: readonly number[]) {
  const width = other.length + 1;
  const lengths = new Uint16Array((one.length + 1) * width);
  const from = (at: number, to: number): number => lengths[at * width + to] ?? 0;
  for (let at = one.length - 1; at >= 0; at -= 1)
    for (let to = other.length - 1; to >= 0; to -= 1)
      lengths[at * width + to] =
        one[at] === other[to] ? from(at + 1, to + 1) + 1 : Math.max(from(at + 1, to), from(at, to + 1));
  return from;
}
