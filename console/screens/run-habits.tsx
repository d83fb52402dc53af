import { useMemo } from 'preact/hooks';
import type { RunAnswer } from '#src/protocol/console/run.ts';
import { Card } from '../ui/parts.tsx';
import { Scatter } from '../ui/scatter.tsx';
import { verbColor, whole } from '../ui/text.ts';

/** Without a chosen step these are compared with all before. */
const newestSteps = 2;

/** A dot a rollout: whether those that are paid more make more calls, or fewer. */
export function RewardAndCalls({
  answer,
  step,
}: {
  readonly answer: RunAnswer;
  readonly step: number | null;
}) {
  const { columns, steps } = answer;
  const dots = useMemo(
    () =>
      columns.id.flatMap((_, row) => {
        const [x = 0, y = null, own = 0] = [columns.calls[row], columns.score[row], columns.step[row]];
        const isLost = (columns.code[row] ?? null) !== null;
        const isChosen = step === null ? own >= steps.length - newestSteps : own === step;
        return y === null && !isLost ? [] : [{ x, y, isChosen }];
      }),
    [columns, steps.length, step],
  );
  const most = { x: Math.max(1, ...dots.map(({ x }) => x)), y: Math.max(1, ...dots.map(({ y }) => y ?? 0)) };
  const chosen = step === null ? 'the last two steps' : `step ${step}`;
  const lost = dots.filter(({ y }) => y === null).length;
  return (
    <Card title="Reward and calls" aside={`a dot a rollout; in color: ${chosen}`}>
      <Scatter
        dots={dots}
        most={most}
        label={`Reward by calls of ${whole(dots.length - lost)} scored rollouts, and ${whole(lost)} discarded below them`}
      />
      <p class="legend">calls to the right, reward upward, discards in a line below</p>
    </Card>
  );
}

/** Which program follows which: rows are followed by columns. */
export function Pairs({ verbs, pairs }: RunAnswer) {
  const most = Math.max(1, ...pairs.flat());
  return (
    <Card title="What follows what" aside="calls of one kind after another">
      <div class="wide-table" tabIndex={0} role="region" aria-label="What follows what">
        <table class="heat">
          <thead>
            <tr>
              <th>first</th>
              {verbs.map((verb) => (
                <th key={verb} class="num mono">
                  {verb}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {verbs.map((verb, row) => (
              <tr key={verb}>
                <th scope="row" class="mono">
                  <i class="dot" style={{ background: verbColor(row) }} /> {verb}
                </th>
                {verbs.map((next, column) => (
                  <td key={next} class={`depth${depthOf(pairs[row]?.[column] ?? 0, most)}`}>
                    {whole(pairs[row]?.[column] ?? 0)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Card>
  );
}

const depthOf = (count: number, most: number): number => Math.round((count / most) * 4);
