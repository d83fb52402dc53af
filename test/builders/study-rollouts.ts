import type { StudiedCall, StudiedRollout } from '#cli/study/rollout.ts';

export const callOf = (tool: string, given: string, more: Partial<StudiedCall> = {}): StudiedCall => ({
  tool,
  arguments: given,
  outputBytes: 400,
  outputTokens: 100,
  tookMs: 250,
  ...more,
});

/** A rollout with this score; null: it was lost to us. */
export const rolloutOf = (
  id: string,
  item: string | null,
  score: number | null,
  more: Partial<StudiedRollout> = {},
): StudiedRollout => ({
  id,
  item,
  calls: [],
  tookMs: 1_000,
  parts: [],
  writtenTokens: null,
  ended:
    score === null
      ? { kind: 'lost', loss: { at: 'search', code: 'sandbox_lost', blame: 'infrastructure' } }
      : { kind: 'scored', score },
  ...more,
});

/** Copies of items: the scores of each by its name. */
export const copiesOf = (
  items: Readonly<Record<string, readonly (number | null)[]>>,
): readonly StudiedRollout[] =>
  Object.entries(items).flatMap(([item, scores]) =>
    scores.map((score, copy) => rolloutOf(`${item}-${copy + 1}`, item, score)),
  );

/**
 * Rollouts of two policies on forty questions, as a searcher and a reader make them: of six questions the copies of the first
 * differ, so 15 % have spread. Always the same ones.
 */
export function searcherAndReader() {
  const questions = Array.from(
    { length: 40 },
    (_, index) => `question-${String(index + 1).padStart(2, '0')}`,
  );
  const searcher = questions.flatMap((item, index) =>
    [0, 1, 2, 3].map((copy) => {
      const right = index < 6 ? Number((index + copy) % 2 === 0) : Number(index < 26);
      const searches = 2 + ((index * 7 + copy * 3) % 9);
      const calls = Array.from({ length: searches }, (_, at) =>
        callOf('search', `{"query":"revenue ${Math.floor(at / 2)}"}`, {
          outputTokens: 300 + ((index * 31 + at * 17) % 500),
          outputBytes: 1_400 + ((index * 131 + at * 77) % 2_000),
          tookMs: 120 + ((index * 13 + at * 29) % 200),
        }),
      );
      return rolloutOf(`searcher-${item}-${copy}`, item, index === 30 && copy === 2 ? null : right, {
        calls: [...calls, callOf('cat', `{"path":"${item}.pdf"}`, { outputTokens: 900, outputBytes: 3_900 })],
        tookMs: 900 + searches * 180 + ((index * copy) % 7) * 90,
        parts: [
          { part: 'gate', score: right, reason: '' },
          { part: 'gate > text', score: right, reason: '' },
          { part: 'gate > calls', score: 1, reason: '' },
        ],
      });
    }),
  );
  const reader = questions.flatMap((item, index) =>
    [0, 1, 2, 3].map((copy) =>
      rolloutOf(`reader-${item}-${copy}`, item, Number(index < 34 && (index + copy) % 11 !== 0), {
        calls: [
          callOf('search', '{"query":"revenue"}'),
          callOf('list', '{"path":"."}', { outputTokens: 40 }),
          ...(index % 3 === 0 ? [callOf('cat', `{"path":"${item}.pdf"}`, { outputTokens: 900 })] : []),
        ],
        tookMs: 700 + index * 9 + copy * 40,
      }),
    ),
  );
  return {
    searcher: { name: 'one-search', what: 'policy', rollouts: searcher },
    reader: { name: 'reader', what: 'policy', rollouts: reader },
  } as const;
}
