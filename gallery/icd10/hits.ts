/** One line of a search. */
export type Hit = { readonly code: string; readonly title: string; readonly isBillable: boolean };

/** `S52.521A | Torus fracture of lower end of right radius, initial encounter … | billable` */
export const hitsIn = (output: string): readonly Hit[] =>
  output.split('\n').flatMap((line) => {
    const [code, title, billable] = line.split(' | ');
    return code === undefined || title === undefined
      ? []
      : [{ code, title, isBillable: billable === 'billable' }];
  });

const stems = (text: string): ReadonlySet<string> =>
  new Set((text.toLowerCase().match(/[a-z]+/g) ?? []).map((word) => word.slice(0, 7)));

/** Of the codes that are billed the one whose title has most of the words, and fewest others. */
export function bestHit(hits: readonly Hit[], words: string): Hit | undefined {
  const wanted = stems(words);
  const scored = hits
    .filter(({ isBillable }) => isBillable)
    .map((hit, place) => {
      const own = stems(hit.title);
      const shared = wanted.intersection(own).size;
      // A term that means the code may share no word with its title: then the place in the list decides.
      return { hit, score: (2 * shared) / (wanted.size + own.size) - place * 0.02 };
    });
  return scored.toSorted((a, b) => b.score - a.score)[0]?.hit;
}
