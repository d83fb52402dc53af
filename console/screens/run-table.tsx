import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { RunAnswer } from '#src/protocol/console/run.ts';
import { Strip } from '../ui/charts.tsx';
import { type Filter, noFilter, type Sort, type SortKey, sorted } from '../ui/filter.ts';
import { addressOf, go, linkTo } from '../ui/route.ts';
import { bytes, count, score, shortId, signed, span, whole } from '../ui/text.ts';

type Props = {
  readonly answer: RunAnswer;
  readonly rows: readonly number[];
  readonly filter: Filter;
  readonly choose: (change: Partial<Filter>) => void;
};

const heads: readonly (readonly [SortKey | null, string])[] = [
  ['step', 'step'],
  [null, 'item'],
  ['opened_at_ms', 'rollout'],
  ['score', 'reward'],
  ['gain', '± group'],
  ['calls', 'calls'],
  ['output_bytes', 'read'],
  ['took_ms', 'took'],
  [null, 'discard'],
];

/** Only the rows that are on the screen are in the page, and a few around them. */
const rowHeight = 34;
const around = 4;

export function RunTable({ answer, rows, filter, choose }: Props) {
  const { columns, findings, items } = answer;
  const [sort, setSort] = useState<Sort>({ key: 'opened_at_ms', down: true });
  const order = useMemo(() => sorted(columns, rows, sort), [columns, rows, sort]);
  const box = useRef<HTMLDivElement>(null);
  const { first, last, onScroll } = useWindow(box, order.length);
  const cursor = useCursor(box, order, (row) => go(addressOfRow(answer, row)));
  const chips: readonly (readonly [string, Partial<Filter>])[] = [
    ...(filter.step === null ? [] : [[`step ${filter.step}`, { step: null }] as const]),
    ...(filter.item === null ? [] : [[items[filter.item] ?? 'item', { item: null }] as const]),
    ...(filter.finding === null
      ? []
      : [[findings[filter.finding]?.title ?? 'finding', { finding: null }] as const]),
  ];
  return (
    <section class="card" id="rollouts" aria-label="Rollouts">
      <div class="filters">
        <h2>Rollouts</h2>
        <Search text={filter.text} choose={choose} />
        <select
          aria-label="Verdict"
          value={filter.verdict ?? ''}
          onChange={({ currentTarget: { value } }) =>
            choose({ verdict: value === 'scored' || value === 'discarded' ? value : null })
          }
        >
          <option value="">any verdict</option>
          <option value="scored">scored</option>
          <option value="discarded">discarded</option>
        </select>
        {chips.map(([name, change]) => (
          <button
            key={name}
            type="button"
            class="chip"
            onClick={() => choose(change)}
            aria-label={`Remove the filter ${name}`}
          >
            {name} ×
          </button>
        ))}
        <span class="quiet" role="status">
          {count(rows.length, 'rollout')}
        </span>
      </div>
      <div
        class="rows"
        role="table"
        aria-label="Rollouts"
        aria-rowcount={order.length + 1}
        tabIndex={0}
        ref={box}
        onScroll={onScroll}
      >
        <div role="rowgroup">
          <div class="row heads" role="row">
            {heads.map(([key, name]) => (
              <span
                key={name}
                role="columnheader"
                aria-sort={key === sort.key ? (sort.down ? 'descending' : 'ascending') : 'none'}
              >
                {key === null ? (
                  name
                ) : (
                  <button
                    type="button"
                    onClick={() => setSort({ key, down: key === sort.key ? !sort.down : true })}
                  >
                    {name}
                    {key === sort.key && (sort.down ? ' ↓' : ' ↑')}
                  </button>
                )}
              </span>
            ))}
          </div>
        </div>
        <div
          role="rowgroup"
          style={{
            paddingTop: `${first * rowHeight}px`,
            paddingBottom: `${(order.length - last) * rowHeight}px`,
          }}
        >
          {order.slice(first, last).map((row, at) => (
            <Row key={row} answer={answer} row={row} place={first + at} isAt={row === cursor} />
          ))}
        </div>
      </div>
      {order.length === 0 && (
        <p class="empty">
          No rollout matches.{' '}
          <button type="button" onClick={() => choose(noFilter)}>
            Show all {whole(columns.id.length)}
          </button>
        </p>
      )}
    </section>
  );
}

const addressOfRow = ({ run, columns }: RunAnswer, row: number): string => {
  const attempt = columns.attempt[row] ?? 1;
  return addressOf(
    ['runs', run, 'rollouts', columns.id[row] ?? ''],
    attempt === 1 ? {} : { attempt: String(attempt) },
  );
};

function Row({
  answer,
  row,
  place,
  isAt,
}: {
  readonly answer: RunAnswer;
  readonly row: number;
  readonly place: number;
  readonly isAt: boolean;
}) {
  const { columns, items } = answer;
  const id = columns.id[row] ?? '';
  const code = columns.code[row] ?? null;
  return (
    <div class={isAt ? 'row at' : 'row'} role="row" aria-rowindex={place + 2}>
      <span role="cell">{columns.step[row]}</span>
      <span role="cell" class="cut mono">
        {items[columns.item[row] ?? -1] ?? '–'}
      </span>
      <span role="cell" class="cut">
        <a class="mono" title={id} {...linkTo(addressOfRow(answer, row))}>
          {shortId(id)}
        </a>
      </span>
      <span role="cell">{score(columns.score[row])}</span>
      <span role="cell">{signed(columns.gain[row])}</span>
      <span role="cell" class="calls">
        {whole(columns.calls[row] ?? 0)} <Strip letters={columns.strip[row] ?? ''} />
      </span>
      <span role="cell">{bytes(columns.output_bytes[row] ?? 0)}</span>
      <span role="cell">{span(columns.took_ms[row])}</span>
      <span role="cell" class="cut bad">
        {code !== null && <code>{code}</code>}
        {columns.suspected[row] === true && ' suspected'}
      </span>
    </div>
  );
}

const pauseMs = 120;

/** What is typed is in the address after a short pause. */
function Search({
  text,
  choose,
}: {
  readonly text: string;
  readonly choose: (change: Partial<Filter>) => void;
}) {
  const [typed, setTyped] = useState(text);
  useEffect(() => setTyped(text), [text]);
  useEffect(() => {
    if (typed === text) return;
    const timer = setTimeout(() => choose({ text: typed }), pauseMs);
    return () => clearTimeout(timer);
  }, [typed]);
  return (
    <input
      type="search"
      name="search"
      placeholder="command, id, item or code ( / )"
      aria-label="Search rollouts by command, id, item or code"
      value={typed}
      onInput={({ currentTarget }) => setTyped(currentTarget.value)}
    />
  );
}

function useWindow(box: { readonly current: HTMLDivElement | null }, length: number) {
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

/** `j` and `k` move, `Enter` opens, `/` goes to the search; never with a modifier or in a field. */
function useCursor(
  box: { readonly current: HTMLDivElement | null },
  order: readonly number[],
  open: (row: number) => void,
): number | null {
  const [cursor, setCursor] = useState<number | null>(null);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.altKey || event.metaKey || isField(event.target)) return;
      const place = cursor === null ? -1 : order.indexOf(cursor);
      const move = (next: number) => {
        setCursor(order[next] ?? null);
        const { current } = box;
        if (current !== null && next * rowHeight + 2 * rowHeight > current.scrollTop + current.clientHeight)
          current.scrollTop = next * rowHeight;
        else if (current !== null && next * rowHeight < current.scrollTop)
          current.scrollTop = next * rowHeight;
      };
      if (event.key === 'j' && place + 1 < order.length) move(place + 1);
      if (event.key === 'k' && place > 0) move(place - 1);
      if (event.key === 'Enter' && cursor !== null && document.activeElement?.tagName !== 'A') open(cursor);
      if (event.key === '/') {
        event.preventDefault();
        document.querySelector<HTMLInputElement>('input[name=search]')?.focus();
      }
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  });
  return cursor;
}

const isField = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && ['INPUT', 'SELECT', 'TEXTAREA', 'BUTTON'].includes(target.tagName);
