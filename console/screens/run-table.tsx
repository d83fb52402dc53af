import { useMemo, useRef, useState } from 'preact/hooks';
import type { RunAnswer } from '#src/protocol/console/run.ts';
import { Strip } from '../ui/charts.tsx';
import { type Filter, noFilter, type Searched, type Sort, type SortKey, sorted } from '../ui/filter.ts';
import { addressOfRollout, type RolloutName } from '../ui/rollout-address.ts';
import { go, linkTo } from '../ui/route.ts';
import { SearchField } from '../ui/search-field.tsx';
import { bytes, count, score, shortId, signed, span, whole } from '../ui/text.ts';
import { rowHeight, useCursor, usePicked, useWindow } from './table-hooks.ts';

type Props = {
  readonly answer: RunAnswer;
  readonly rows: readonly number[];
  readonly filter: Filter;
  /** Null: the server has not answered yet. */
  readonly searched: Searched | null;
  readonly choose: (change: Partial<Filter>) => void;
  /** How many rollouts wait to be shown. */
  readonly newer: number;
  readonly showNewer: () => void;
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

export function RunTable({ answer, rows, filter, searched, choose, newer, showNewer }: Props) {
  const { columns, findings, items } = answer;
  const [sort, setSort] = useState<Sort>({ key: 'opened_at_ms', down: true });
  const order = useMemo(() => sorted(columns, rows, sort), [columns, rows, sort]);
  const box = useRef<HTMLDivElement>(null);
  const { first, last, onScroll } = useWindow(box, order.length);
  const { picked, pick, compare } = usePicked(answer.run);
  const cursor = useCursor(box, order, {
    open: (row) => go(addressOfRow(answer, row)),
    pick: (row) => pick(nameOfRow(answer, row)),
    compare,
  });
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
        <SearchField
          text={filter.text}
          what={{
            label: 'Search rollouts by command, id, item or code',
            hint: filter.outputs ? 'command, output, id, item or code' : 'command, id, item or code',
          }}
          choose={(text) => choose({ text })}
        />
        <label>
          <input
            type="checkbox"
            checked={filter.outputs}
            onChange={({ currentTarget: { checked } }) => choose({ outputs: checked })}
          />{' '}
          outputs, too
        </label>
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
        {picked.map((name) => (
          <button
            key={`${name.id} ${name.attempt}`}
            type="button"
            class="chip mono"
            onClick={() => pick(name)}
            aria-label={`Do not compare ${name.id}`}
          >
            {shortId(name.id)} ×
          </button>
        ))}
        {picked.length === 2 && (
          <button type="button" onClick={compare}>
            Compare
          </button>
        )}
        <span class="quiet" role="status">
          {count(rows.length, 'rollout')}
        </span>
        {newer > 0 && (
          <button type="button" onClick={showNewer}>
            Show {whole(newer)} new
          </button>
        )}
      </div>
      {filter.outputs && filter.text.trim() !== '' && <p class="quiet">{wordsOf(searched)}</p>}
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

function wordsOf(searched: Searched | null): string {
  if (searched === null) return 'Searching in outputs …';
  if (searched.outputs === null) return searched.trouble ?? '';
  const { rollouts, whole: isWhole } = searched.outputs;
  const rest = isWhole ? '' : ' There are more, which could not all be read in 10 seconds.';
  return `Outputs of ${count(rollouts, 'rollout')} are kept and were searched.${rest}`;
}

const nameOfRow = ({ columns }: RunAnswer, row: number): RolloutName => ({
  id: columns.id[row] ?? '',
  attempt: columns.attempt[row] ?? 1,
});

const addressOfRow = (answer: RunAnswer, row: number): string =>
  addressOfRollout(answer.run, nameOfRow(answer, row));

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
