import { useEffect, useState } from 'preact/hooks';
import { goToSearch, useFastKeys } from '../ui/keys.ts';
import { addressOfTwo, isSameRollout, type RolloutName } from '../ui/rollout-address.ts';
import { go } from '../ui/route.ts';

/** Only the rows that are on the screen are in the page, and a few around them. */
export const rowHeight = 34;
const around = 4;

export function useWindow(box: { readonly current: HTMLDivElement | null }, length: number) {
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  useEffect(() => setHeight(box.current?.clientHeight ?? 600), []);
  const first = Math.max(0, Math.min(length, Math.floor(top / rowHeight) - around));
  const last = Math.min(length, Math.ceil((top + height) / rowHeight) + around);
  // A window moves row by row, not with each pixel.
  const onScroll = ({ currentTarget }: { readonly currentTarget: HTMLDivElement }) =>
    setTop(Math.floor(currentTarget.scrollTop / rowHeight) * rowHeight);
  return { first, last, onScroll };
}

/** Two rollouts at most are chosen for comparison: the two that were chosen last. */
export function usePicked(run: string) {
  const [picked, setPicked] = useState<readonly RolloutName[]>([]);
  const pick = (name: RolloutName) =>
    setPicked((now) => {
      const others = now.filter((each) => !isSameRollout(each, name));
      return others.length < now.length ? others : [...now, name].slice(-2);
    });
  const compare = () => {
    const [a, b] = picked;
    if (a !== undefined && b !== undefined) go(addressOfTwo(run, a, b));
  };
  return { picked, pick, compare };
}

type Acts = {
  readonly open: (row: number) => void;
  readonly pick: (row: number) => void;
  readonly compare: () => void;
};

/** `j` and `k` move, `Enter` opens, `x` chooses, `c` compares, `/` goes to the search. */
export function useCursor(
  box: { readonly current: HTMLDivElement | null },
  order: readonly number[],
  { open, pick, compare }: Acts,
): number | null {
  const [cursor, setCursor] = useState<number | null>(null);
  useFastKeys((event) => {
    const place = cursor === null ? -1 : order.indexOf(cursor);
    const move = (next: number) => {
      setCursor(order[next] ?? null);
      const { current } = box;
      if (current !== null && next * rowHeight + 2 * rowHeight > current.scrollTop + current.clientHeight)
        current.scrollTop = next * rowHeight;
      else if (current !== null && next * rowHeight < current.scrollTop) current.scrollTop = next * rowHeight;
    };
    if (event.key === 'j' && place + 1 < order.length) move(place + 1);
    if (event.key === 'k' && place > 0) move(place - 1);
    if (event.key === 'Enter' && cursor !== null && !isPressable(document.activeElement)) open(cursor);
    if (event.key === 'x' && cursor !== null) pick(cursor);
    if (event.key === 'c') compare();
    goToSearch(event);
  });
  return cursor;
}

/** `Enter` is its own. */
const isPressable = (element: Element | null): boolean =>
  element !== null && ['A', 'BUTTON'].includes(element.tagName);
