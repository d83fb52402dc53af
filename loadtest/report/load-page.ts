import { escaped, figure, pageOf } from '#cli/drawing/page.ts';
import { drawShares } from '#cli/drawing/shares.ts';
import { drawSvg, legend, tones, valueAxis } from '#cli/drawing/svg.ts';
import type { LoadFindings } from '../burst/load-findings.ts';
import type { LoadOptions } from '../burst/options.ts';
import type { LoadRun } from '../burst/run-load.ts';
import { isSuccess, type Try } from '../burst/tries.ts';
import { loadLines } from './load-report.ts';

/** The picture of a burst: when its first answers came, and what was answered in each moment of it. */
export function loadPage(load: LoadRun, options: LoadOptions): string {
  const { verdict, otherThan200 } = load.findings;
  const { all, scored } = verdict.rollouts;
  const title = `${scored} of ${all} rollouts scored, ${otherThan200} answers other than 200`;
  return pageOf(title, [
    `<h1>${escaped(title)}</h1>`,
    figure('The first answer of each rollout', firstNote, drawFirstAnswers(load.findings)),
    figure('Answers over the burst', answersNote, drawAnswers(load.findings.tries, load.lastedMs)),
    `<section><pre>${escaped(loadLines(load, options).join('\n'))}</pre></section>`,
  ]);
}

const firstNote =
  'Share of the rollouts that had their first answer after a given time. Their first commands do no work.';
const answersNote = 'Requests that ended in each moment, repeats included; other than 200 in red.';

function drawFirstAnswers({ firstAnswersMs: { warm, cold, other } }: LoadFindings): string {
  return drawShares('time from first call to first answer (ms)', 'rollouts that have one (%)', [
    ['warm', tones.orange, warm],
    ['cold', tones.blue, cold],
    ['start not told', tones.grey, other],
  ]);
}

/** As many columns as can be told apart. */
const columns = 120;

function drawAnswers(tries: readonly Try[], lastedMs: number): string {
  const widthMs = Math.max(1, lastedMs) / columns;
  const counts = (some: readonly Try[]) => {
    const column = ({ endedMs }: Try) => Math.min(columns - 1, Math.floor(endedMs / widthMs));
    const byColumn = Map.groupBy(some, column);
    return Array.from({ length: columns }, (_, at) => byColumn.get(at)?.length ?? 0);
  };
  const bars = (name: string, color: string, some: readonly Try[]) => ({
    type: 'bar' as const,
    name,
    color,
    stack: 'answers',
    barCategoryGap: '10%',
    data: counts(some),
  });
  const seconds = Array.from({ length: columns }, (_, at) => ((at * widthMs) / 1000).toFixed(1));
  return drawSvg(
    {
      legend: legend(),
      grid: { left: 60, right: 30, top: 44, bottom: 54 },
      xAxis: { ...valueAxis('time since the load began (s)'), type: 'category', data: seconds },
      yAxis: { ...valueAxis('answers'), minInterval: 1, nameGap: 40 },
      series: [
        bars(
          '200',
          tones.blue,
          tries.filter(({ status }) => isSuccess(status)),
        ),
        bars(
          'other',
          tones.red,
          tries.filter(({ status }) => !isSuccess(status)),
        ),
      ],
    },
    320,
  );
}
