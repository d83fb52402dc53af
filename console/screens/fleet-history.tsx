import { useState } from 'preact/hooks';
import type { FleetHistoryAnswer } from '#src/protocol/console/fleet.ts';
import { useLive } from '../ui/api.ts';
import { Legend, pathOf, type Scale, TimeChart } from '../ui/charts.tsx';
import { Card } from '../ui/parts.tsx';
import { count, whole } from '../ui/text.ts';

const everyMs = 5_000;
const choices = [
  [10, '10 min'],
  [60, '1 h'],
  [1_440, '24 h'],
] as const;

/** What the fleet was like while someone with this key was logged in. */
export function FleetHistory() {
  const [minutes, setMinutes] = useState(10);
  const { answer } = useLive<FleetHistoryAnswer>(`/api/fleet/history?minutes=${minutes}`, everyMs);
  return (
    <section aria-label="History">
      <div class="filters">
        <h2>History</h2>
        <span class="segments" role="group" aria-label="Time">
          {choices.map(([each, name]) => (
            <button key={each} type="button" aria-pressed={minutes === each} onClick={() => setMinutes(each)}>
              {name}
            </button>
          ))}
        </span>
        <span class="quiet">while this key is logged in; longer ones are in the dashboards</span>
      </div>
      {answer !== null && answer.at_ms.length > 1 && <Charts history={answer} />}
    </section>
  );
}

type Kind = 'waiting' | 'held' | 'ready' | 'starting' | 'discarded';
type Shown = readonly (readonly [kind: Kind, name: string, color: string])[];

const sandboxes: Shown = [
  ['held', 'in use', 'var(--v0)'],
  ['ready', 'ready', 'var(--v2)'],
  ['starting', 'starting', 'var(--v1)'],
];
const waiting: Shown = [['waiting', 'waiting', 'var(--v3)']];
const discarded: Shown = [['discarded', 'discarded', 'var(--bad)']];

const Charts = ({ history }: { readonly history: FleetHistoryAnswer }) => (
  <div class="charts">
    <Chart title="Sandboxes" history={history} shown={sandboxes} />
    <Chart title="Waiting rollouts" history={history} shown={waiting} />
    <Chart title="Discards of the last minutes" history={history} shown={discarded} />
  </div>
);

function Chart({
  title,
  history,
  shown,
}: {
  readonly title: string;
  readonly history: FleetHistoryAnswer;
  readonly shown: Shown;
}) {
  const most = Math.max(1, ...shown.flatMap(([kind]) => history[kind]));
  const [first = 0, last = 0] = [history.at_ms[0], history.at_ms.at(-1)];
  const now = shown.map(([kind, name]) => `${whole(history[kind].at(-1) ?? 0)} ${name}`).join(', ');
  return (
    <Card title={title} aside={`now ${now}`}>
      <TimeChart
        label={`${title}: ${now}, at most ${whole(most)}, in ${count(history.at_ms.length, 'reading')}`}
        sinceMs={first}
        untilMs={last}
        most={most}
      >
        {(scale) =>
          shown.map(([kind, , color]) => (
            <path
              key={kind}
              class="line"
              d={pathWithGaps(history, history[kind], scale)}
              style={{ stroke: color }}
            />
          ))
        }
      </TimeChart>
      {shown.length > 1 && <Legend of={shown.map(([, name, color]) => [name, color] as const)} />}
    </Card>
  );
}

/** Readings that are missing are a gap, and never a line between what was before and after. */
function pathWithGaps(
  { at_ms: times, every_ms: usualMs }: FleetHistoryAnswer,
  values: readonly number[],
  { x, y }: Scale,
): string {
  const pieces: number[][] = [];
  for (const [at, timeMs] of times.entries()) {
    const isNext = at > 0 && timeMs - (times[at - 1] ?? timeMs) < Math.max(15_000, 3 * usualMs);
    if (isNext) pieces.at(-1)?.push(at);
    else pieces.push([at]);
  }
  const pathOfPiece = (piece: readonly number[]) =>
    pathOf(
      piece.map((at) => values[at] ?? null),
      { x: (place) => x(times[piece[place] ?? 0] ?? 0), y },
    );
  return pieces.map(pathOfPiece).join('');
}
