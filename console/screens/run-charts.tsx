import type { Cell, RunAnswer } from '#src/protocol/console/run.ts';
import { Bars, Legend, Line, Spark, StepChart } from '../ui/charts.tsx';
import type { Filter } from '../ui/filter.ts';
import { Card } from '../ui/parts.tsx';
import { bytes, percent, score, signed, verbColor, whole } from '../ui/text.ts';
import { Pairs, RewardAndCalls } from './run-habits.tsx';

type Props = {
  readonly answer: RunAnswer;
  readonly step: number | null;
  readonly item: number | null;
  readonly choose: (change: Partial<Filter>) => void;
};

const blames = [
  ['infrastructure', 'var(--bad)'],
  ['caller', 'var(--caller)'],
  ['model', 'var(--model)'],
] as const;

/** Four charts over steps, items, habits and the grader's parts. Events name no steps: rollouts that open together are one. */
export function RunCharts({ answer, step, item, choose }: Props) {
  const { steps, verbs } = answer;
  const chooseStep = (next: number) => choose({ step: next === step ? null : next });
  const frame = { steps: steps.length, chosen: step, onChoose: chooseStep };
  const mostReward = Math.max(1, ...steps.map(({ best }) => best ?? 0));
  const mostCalls = Math.max(1, ...steps.map((one) => Math.max(one.calls_p95, total(one.verbs))));
  const mostOutput = Math.max(1, ...steps.map(({ output_p95: most }) => most));
  const lost = steps.map(({ lost: by }) => [by.infrastructure, by.caller, by.model]);
  const names = [...verbs, ...(steps.some((one) => (one.verbs.at(-1) ?? 0) > 0) ? ['other'] : [])];
  return (
    <div class="charts">
      <Card title="Reward" aside="by step, of scored rollouts">
        {answer.counts.scored === 0 ? (
          <p class="empty">Nothing was scored yet.</p>
        ) : (
          <>
            <StepChart
              {...frame}
              label={`Mean reward by step: ${steps.map(({ mean }) => score(mean)).join(', ')}`}
              most={mostReward}
              format={score}
              tip={(at) =>
                `step ${at}: mean ${score(steps[at]?.mean)}, best of group ${score(steps[at]?.best)}, σ within groups ${score(steps[at]?.spread)}`
              }
            >
              {(scale) => (
                <>
                  <Line values={steps.map(({ best }) => best)} scale={scale} color="var(--quiet)" dashed />
                  <Line values={steps.map(({ mean }) => mean)} scale={scale} color="var(--reward)" />
                </>
              )}
            </StepChart>
            <Legend
              of={[
                ['mean', 'var(--reward)'],
                ['mean best of group', 'var(--quiet)'],
              ]}
            />
          </>
        )}
      </Card>
      <Card title="Calls a rollout" aside="by what they run">
        <StepChart
          {...frame}
          label={`Mean calls a rollout by step: ${steps.map((one) => total(one.verbs).toFixed(1)).join(', ')}`}
          most={mostCalls}
          format={whole}
          tip={(at) =>
            `step ${at}: mean ${total(steps[at]?.verbs ?? []).toFixed(1)}, one in twenty makes at least ${steps[at]?.calls_p95}`
          }
        >
          {(scale) => (
            <Bars
              parts={steps.map((one) => one.verbs)}
              scale={scale}
              colors={names.map((_, place) => verbColor(place))}
            />
          )}
        </StepChart>
        <Legend of={names.map((name, place) => [name, verbColor(place)])} />
      </Card>
      <Card title="Output a rollout reads" aside="median, and one in twenty">
        <StepChart
          {...frame}
          label={`Median output of a rollout by step: ${steps.map((one) => bytes(one.output_median)).join(', ')}`}
          most={mostOutput}
          format={bytes}
          tip={(at) =>
            `step ${at}: median ${bytes(steps[at]?.output_median ?? 0)}, one in twenty reads at least ${bytes(steps[at]?.output_p95 ?? 0)}`
          }
        >
          {(scale) => (
            <>
              <Line values={steps.map((one) => one.output_p95)} scale={scale} color="var(--quiet)" dashed />
              <Line values={steps.map((one) => one.output_median)} scale={scale} color="var(--v0)" />
            </>
          )}
        </StepChart>
      </Card>
      <Card title="Discarded" aside="never part of a mean">
        <StepChart
          {...frame}
          label={`Discarded rollouts by step: ${lost.map(total).join(', ')}`}
          most={Math.max(1, ...lost.map(total))}
          format={(value) => (Number.isInteger(value) ? whole(value) : '')}
          tip={(at) =>
            `step ${at}: ${total(lost[at] ?? [])} of ${steps[at]?.rollouts} discarded; in ${steps[at]?.lost.suspected} a command is suspected`
          }
        >
          {(scale) => <Bars parts={lost} scale={scale} colors={blames.map(([, color]) => color)} />}
        </StepChart>
        <Legend of={blames.map(([name, color]) => [name, color])} />
      </Card>
      {answer.items.length > 0 && <Items answer={answer} item={item} step={step} choose={choose} />}
      <RewardAndCalls answer={answer} step={step} />
      {answer.verbs.length > 1 && <Pairs {...answer} />}
      {answer.places.length > 0 && <Places {...answer} choose={choose} />}
      {answer.parts.length > 1 && <Parts {...answer} />}
    </div>
  );
}

const total = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);

const shownItems = 24;

function Items({ answer: { items, cells, steps }, item, step, choose }: Props) {
  return (
    <Card title="Items" aside={`the largest changes of ${whole(items.length)}: mean reward by step`} wide>
      <div class="wide-table" tabIndex={0} role="region" aria-label="Items by step">
        <table class="heat">
          <thead>
            <tr>
              <th>item</th>
              {steps.map((one, at) => (
                <th key={one.at_ms} class="num">
                  {at}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {items.slice(0, shownItems).map((name, place) => (
              <tr key={name}>
                <th scope="row">
                  <button
                    type="button"
                    class="mono"
                    aria-pressed={item === place}
                    onClick={() => choose({ item: item === place ? null : place })}
                  >
                    {name}
                  </button>
                </th>
                {cells[place]?.map((cell, at) => (
                  <HeatCell key={steps[at]?.at_ms} cell={cell} isChosen={item === place && step === at} />
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Card>
  );
}

/** Five depths of one color, behind the number. */
function HeatCell({ cell, isChosen }: { readonly cell: Cell; readonly isChosen: boolean }) {
  if (cell === null) return <td class="none">·</td>;
  const depth = cell.mean === null ? 0 : Math.round(Math.max(0, Math.min(1, cell.mean)) * 4);
  return (
    <td
      class={`depth${depth}${isChosen ? ' chosen' : ''}`}
      title={`${cell.n} rollouts, σ ${score(cell.spread)}, ${cell.lost} discarded`}
    >
      {cell.mean === null ? '–' : score(cell.mean)}
      {cell.lost > 0 && <span class="bad"> ×{cell.lost}</span>}
    </td>
  );
}

const Places = ({ places, choose }: RunAnswer & Pick<Props, 'choose'>) => (
  <Card title="Where rollouts look" aside="outside of their work, the newest first">
    <table class="plain">
      <thead>
        <tr>
          <th>path</th>
          <th class="num">since step</th>
          <th>share</th>
          <th class="num">± group</th>
        </tr>
      </thead>
      <tbody>
        {places.slice(0, 8).map(({ place, first_step: first, shares, gain }) => (
          <tr key={place}>
            <td>
              <button type="button" class="mono" onClick={() => choose({ text: place })}>
                {place}
              </button>
            </td>
            <td class="num">{first}</td>
            <td title={`in the last step ${percent(shares.at(-1) ?? 0)}`}>
              <Spark values={shares} isBad={(gain ?? 0) > 0.1} />
            </td>
            <td class="num">{signed(gain)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </Card>
);

const Parts = ({ parts, steps }: RunAnswer) => (
  <Card title="Parts of the grader" aside="mean in the first and in the last step">
    <table class="plain">
      <tbody>
        {parts.map(({ part, means }) => (
          <tr key={part}>
            <td class="mono">{part}</td>
            <td>
              <Spark values={means.map((mean) => mean ?? 0)} />
            </td>
            <td class="num">
              {score(means[0])} → {score(means[steps.length - 1])}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </Card>
);
