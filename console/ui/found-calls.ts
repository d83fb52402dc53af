import { useEffect, useState } from 'preact/hooks';
import type { CallLine, CallSearchAnswer, Excerpt } from '#src/protocol/console/rollout.ts';
import { ask } from './api.ts';

export type Numbered = { readonly call: CallLine; readonly number: number };

/** All calls, or those with the text: the page has the beginning of each, and the server all that is kept. */
export function useFound(
  calls: readonly CallLine[],
  text: string,
  { path, asked }: { readonly path: string; readonly asked: string },
): readonly Numbered[] {
  const wanted = text.trim();
  const [found, setFound] = useState<ReadonlySet<string>>(new Set());
  useEffect(() => {
    setFound(new Set());
    if (wanted === '') return;
    let isOver = false;
    ask<CallSearchAnswer>(`${path}/search${asked}&q=${encodeURIComponent(wanted.slice(0, 200))}`).then(
      (answer) => isOver || answer === null || setFound(new Set(answer.calls)),
      // The next text tries again; until then the page has what it finds by itself.
      () => undefined,
    );
    return () => void (isOver = true);
  }, [path, asked, wanted]);
  const small = wanted.toLowerCase();
  const has = (excerpt: Excerpt | null) => excerpt?.text.toLowerCase().includes(small) === true;
  return calls
    .map((call, at) => ({ call, number: at + 1 }))
    .filter(({ call }) => small === '' || found.has(call.id) || has(call.asked) || has(call.output));
}
