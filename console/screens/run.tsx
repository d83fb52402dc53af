import { useCallback, useEffect, useMemo, useState } from 'preact/hooks';
import type { FindingLine, RunAnswer, SearchAnswer } from '#src/protocol/console/run.ts';
import { ApiError, ask, useLive } from '../ui/api.ts';
import { Spark } from '../ui/charts.tsx';
import { type Filter, filterIn, matching, noFilter, queryOf, type Searched } from '../ui/filter.ts';
import { Missing, Reading, Trouble } from '../ui/parts.tsx';
import { addressOf, go } from '../ui/route.ts';
import { count, instant, score, span, whole } from '../ui/text.ts';
import { RunCharts } from './run-charts.tsx';
import { RunTable } from './run-table.tsx';

const everyMs = 2_000;

export function Run({ run, query }: { readonly run: string; readonly query: URLSearchParams }) {
  const path = `/api/runs/${encodeURIComponent(run)}`;
  const { answer, error } = useLive<RunAnswer>(path, everyMs, ({ rev }) => `${path}?rev=${rev}`);
  if (answer === null)
    return error === null ? <Reading what={run} /> : <Trouble error={error} isStale={false} />;
  return (
    <>
      {error !== null && <Trouble error={error} isStale />}
      {answer.counts.rollouts === 0 && !answer.reading ? (
        <NoRollout run={run} />
      ) : (
        <RunPage answer={answer} query={query} path={path} />
      )}
    </>
  );
}

const NoRollout = ({ run }: { readonly run: string }) => (
  <>
    <h1 class="mono">{run}</h1>
    <p class="empty">The event logs that this key reads have no rollout of this run.</p>
  </>
);

/** While someone reads in the table, nothing moves by itself: newer rollouts wait until they are asked for. */
function useHeld(newest: RunAnswer) {
  const [shown, setShown] = useState(newest);
  const newer = newest.columns.id.length - shown.columns.id.length;
  const isHeld = newest.run === shown.run && newer > 0 && isTableScrolled();
  const answer = isHeld ? shown : newest;
  useEffect(() => setShown(answer), [answer]);
  return { answer, newer: isHeld ? newer : 0, showNewer: () => setShown(newest) };
}

const isTableScrolled = (): boolean => (document.querySelector('.rows')?.scrollTop ?? 0) > 0;

function RunPage({
  answer: newest,
  query,
  path,
}: {
  readonly answer: RunAnswer;
  readonly query: URLSearchParams;
  readonly path: string;
}) {
  const { answer, newer, showNewer } = useHeld(newest);
  const { run, columns, items, findings, counts } = answer;
  const filter = filterIn(query);
  const choose = useCallback(
    (change: Partial<Filter>) => {
      const now = filterIn(new URLSearchParams(location.search));
      go(addressOf(['runs', run], queryOf({ ...now, ...change })), true);
    },
    [run],
  );
  const searched = useSearch(path, filter, answer.rev);
  const { step, item, verdict, finding, text } = filter;
  const rows = useMemo(
    () => matching(columns, items, findings, { ...noFilter, step, item, verdict, finding, text }, searched),
    [columns, items, findings, step, item, verdict, finding, text, searched],
  );
  // The same element is not drawn again: a key press in the search changes the table alone.
  const charts = useMemo(
    () => <RunCharts answer={answer} step={step} item={item} choose={choose} />,
    [answer, step, item, choose],
  );
  const looks = useMemo(
    () => <Findings findings={findings} chosen={finding} choose={choose} />,
    [findings, finding, choose],
  );
  return (
    <>
      <header class="head">
        <h1 class="mono">{run}</h1>
        <p class="facts">
          <code>
            {answer.environment}@{answer.version.slice(0, 8)}
          </code>
          <b>{count(counts.rollouts, 'rollout')}</b>
          <span>{count(counts.calls, 'call')}</span>
          <span>mean reward {score(answer.mean)}</span>
          <span class={counts.discarded > 0 ? 'bad' : ''}>{whole(counts.discarded)} discarded</span>
          {counts.voided > 0 && <span>{whole(counts.voided)} voided, left out</span>}
          {counts.unfinished > 0 && <span>{whole(counts.unfinished)} running</span>}
          {answer.since_ms !== null && <span>since {instant(answer.since_ms)} UTC</span>}
          {answer.since_ms !== null && answer.until_ms !== null && (
            <span>{span(answer.until_ms - answer.since_ms)}</span>
          )}
          {answer.reading && <span role="status">reading logs …</span>}
        </p>
      </header>
      <Missing missing={answer.missing} />
      {looks}
      {charts}
      <RunTable
        answer={answer}
        rows={rows}
        filter={filter}
        searched={searched}
        choose={choose}
        newer={newer}
        showNewer={showNewer}
      />
    </>
  );
}

const pauseMs = 120;

/** Commands and outputs are on the server only; what was found for an older text is kept until the new answer is there. */
function useSearch(path: string, { text, outputs }: Filter, rev: number): Searched | null {
  const [searched, setSearched] = useState<Searched | null>(null);
  // Outputs are searched once for a text: a run that goes on would have them searched again and again.
  const again = outputs ? 0 : rev;
  useEffect(() => {
    if (outputs) setSearched(null);
    if (text.trim() === '') return;
    let isOver = false;
    const where = outputs ? '&in=outputs' : '';
    const timer = setTimeout(() => {
      ask<SearchAnswer>(`${path}/search?q=${encodeURIComponent(text.slice(0, 200))}${where}`).then(
        (answer) => isOver || answer === null || setSearched(searchedBy(text, answer)),
        // The next key press, or the next state of the run, tries again.
        (thrown: unknown) => isOver || !outputs || setSearched(notSearched(text, thrown)),
      );
    }, pauseMs);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [path, text, outputs, again]);
  return searched;
}

const searchedBy = (text: string, { rows, outputs }: SearchAnswer): Searched => ({
  text,
  rows: new Set(rows),
  outputs: outputs ?? null,
  trouble: null,
});

const notSearched = (text: string, thrown: unknown): Searched => ({
  text,
  rows: new Set(),
  outputs: null,
  trouble: thrown instanceof ApiError ? thrown.message : String(thrown),
});

const shown = 4;
const marks = { bad: '!', look: '→' } as const;

function Findings({
  findings,
  chosen,
  choose,
}: {
  readonly findings: readonly FindingLine[];
  readonly chosen: number | null;
  readonly choose: (change: Partial<Filter>) => void;
}) {
  const [isAll, setAll] = useState(false);
  if (findings.length === 0)
    return (
      <section class="card finding good">
        <h2>Nothing to look at was found</h2>
        <p>No rule of what to look at applies to this run so far. Rollouts are worth reading all the same.</p>
      </section>
    );
  return (
    <section aria-label="What to look at">
      <h2 class="sr">What to look at</h2>
      <div class="findings">
        {findings.slice(0, isAll ? findings.length : shown).map((finding, place) => (
          <article key={`${finding.kind} ${finding.what}`} class={`card finding ${finding.weight}`}>
            <h3>
              <span aria-hidden="true">{marks[finding.weight]}</span> {finding.title}
            </h3>
            {finding.what !== null && <code class="what">{finding.what}</code>}
            <p>{finding.text}</p>
            {finding.rows.length > 0 && (
              <p class="foot">
                <button
                  type="button"
                  aria-pressed={chosen === place}
                  onClick={() => choose({ ...noFilter, finding: chosen === place ? null : place })}
                >
                  {chosen === place ? 'Show all rollouts' : `Show ${count(finding.rollouts, 'rollout')}`}
                </button>
                <Spark values={finding.by_step} isBad={finding.weight === 'bad'} />
              </p>
            )}
          </article>
        ))}
      </div>
      {findings.length > shown && (
        <button type="button" onClick={() => setAll(!isAll)}>
          {isAll ? 'Show the worst' : `Show all ${findings.length} findings`}
        </button>
      )}
    </section>
  );
}
