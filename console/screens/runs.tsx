import type { RunsAnswer } from '#src/protocol/console/runs.ts';
import { Spark } from '../ui/charts.tsx';
import { useLive } from '../ui/api.ts';
import { Reading, Trouble } from '../ui/parts.tsx';
import { addressOf, linkTo } from '../ui/route.ts';
import { score, whole } from '../ui/text.ts';

const everyMs = 5_000;

export function Runs({ query }: { readonly query: URLSearchParams }) {
  const cursor = query.get('cursor') ?? '0';
  const { answer, error } = useLive<RunsAnswer>(`/api/runs?cursor=${encodeURIComponent(cursor)}`, everyMs);
  return (
    <>
      <h1>Runs</h1>
      {error !== null && <Trouble error={error} isStale={answer !== null} />}
      {answer === null ? error === null && <Reading what="the runs" /> : <RunTable {...answer} />}
    </>
  );
}

function RunTable({ runs, cursor }: RunsAnswer) {
  if (runs.length === 0) return <NoRun />;
  return (
    <>
      <div class="wide-table" tabIndex={0} role="region" aria-label="Runs">
        <table class="plain">
          <thead>
            <tr>
              <th>run</th>
              <th>state</th>
              <th class="num">rollouts</th>
              <th class="num">running</th>
              <th class="num">scored</th>
              <th class="num">discarded</th>
              <th class="num">mean reward</th>
              <th>by wave</th>
              <th>what to look at</th>
            </tr>
          </thead>
          <tbody>
            {runs.map((run) => (
              <tr key={run.run}>
                <td>
                  <a class="mono" {...linkTo(addressOf(['runs', run.run]))}>
                    {run.run}
                  </a>
                </td>
                <td>{run.state}</td>
                <td class="num">{whole(run.rollouts)}</td>
                <td class="num">{whole(run.open)}</td>
                <td class="num">{whole(run.scored)}</td>
                <td class={run.discarded > 0 ? 'num bad' : 'num'}>{whole(run.discarded)}</td>
                <td class="num">{score(run.mean)}</td>
                <td>
                  <Spark values={run.means.map((mean) => mean ?? 0)} />
                </td>
                <td>{run.finding ?? <span class="quiet">open the run to count</span>}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {cursor !== null && <a {...linkTo(addressOf([], { cursor: String(cursor) }))}>More runs</a>}
    </>
  );
}

const NoRun = () => (
  <div class="empty">
    <p>No run is known yet. The first call of a training job opens one, and so does the demo:</p>
    <pre>npm run demo -- --keep</pre>
  </div>
);
