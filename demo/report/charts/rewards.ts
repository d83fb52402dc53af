import type { ScatterSeriesOption } from 'echarts';
import { barSeries, drawSvg, ink, legend, onRows, rowAxes, tones, valueAxis } from '#cli/drawing/svg.ts';
import { policies } from '#demo/policies/roster.ts';
import { groupsOf } from '#demo/trainer/groups.ts';
import type { RolloutRecord } from '#demo/trainer/record.ts';

const rowHeightPx = 46;
const policyTones = [tones.blue, tones.teal, tones.orange, tones.violet, tones.grey, tones.gold];

/** A mark at a reward, in a row; fractions of a row stand beside its middle. */
type Mark = readonly [reward: number, row: number];

/** One row a task: each copy's reward, mean, spread and best, and where a fabricated zero would have moved the mean. */
export function drawRewards(records: readonly RolloutRecord[]): string {
  const groups = groupsOf(records, 'with');
  const tasks = groups.map((group) => group.task);
  const zeroed = groupsOf(records, 'without');
  const marks = (value: (row: number) => number | null | undefined): readonly Mark[] =>
    groups.flatMap((_, row) => {
      const reward = value(row);
      return typeof reward === 'number' ? [[reward, row] as const] : [];
    });
  const moved = (row: number) => (zeroed[row]?.n === groups[row]?.n ? null : zeroed[row]?.mean);
  return drawSvg(
    {
      legend: legend(),
      grid: { left: 280, right: 30, top: 64, bottom: 54 },
      xAxis: {
        ...valueAxis('reward (F1 of the files named, less a penalty beyond 12 calls)'),
        min: 0,
        max: 1,
      },
      yAxis: [...rowAxes(tasks)],
      series: [
        spreadSeries(records),
        ...policies.map((policy, index) =>
          dots(policy.name, policyTones[index] ?? tones.grey, rewardMarks(records, tasks, policy.name)),
        ),
        symbols(
          'mean',
          'diamond',
          ink.text,
          marks((row) => groups[row]?.mean),
        ),
        symbols('best', 'triangle', ink.page, aboveRow(marks((row) => groups[row]?.best))),
        symbols('mean, had losses been zeros', 'diamond', tones.red, marks(moved)),
      ],
    },
    tasks.length * rowHeightPx + 118,
  );
}

function spreadSeries(records: readonly RolloutRecord[]) {
  const bars = groupsOf(records, 'with').flatMap(({ mean, spread }, row) =>
    mean === null || spread === null ? [] : [[Math.max(0, mean - spread), Math.min(1, mean + spread), row]],
  );
  return { ...barSeries('mean ± spread', ink.band, 26, bars), z: 1 };
}

function rewardMarks(
  records: readonly RolloutRecord[],
  tasks: readonly string[],
  policy: string,
): readonly Mark[] {
  return records.flatMap((record) =>
    record.policy === policy && record.ending.kind === 'scored'
      ? [[record.ending.score, tasks.indexOf(record.task) + lane(record.copy)] as const]
      : [],
  );
}

/** Copies of a task are spread over its row, so that equal rewards do not hide each other. */
const lane = (copy: number): number => ((copy % 8) - 3.5) * 0.07;

/** The best reward is also a dot of its row: its mark stands over it, not on it. */
const aboveRow = (marks: readonly Mark[]): readonly Mark[] =>
  marks.map(([reward, row]) => [reward, row - 0.4] as const);

const dots = (name: string, color: string, marks: readonly Mark[]): ScatterSeriesOption => ({
  type: 'scatter',
  name,
  color,
  symbolSize: 8,
  data: marks.map((mark) => [...mark]),
  z: 3,
  ...onRows,
});

const symbols = (
  name: string,
  symbol: 'diamond' | 'triangle',
  color: string,
  marks: readonly Mark[],
): ScatterSeriesOption => ({
  ...dots(name, color, marks),
  symbol,
  symbolSize: symbol === 'diamond' ? 15 : 12,
  itemStyle: { color, borderColor: ink.text, borderWidth: 1.2 },
  z: 4,
});
