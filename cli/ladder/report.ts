import { score } from '../print/amounts.ts';
import { table } from '../print/table.ts';
import type { LadderReport, RungReport } from './ladder.ts';

export function describeLadder({ environment, rows, ok, rungs }: LadderReport, width: number): string {
  const title = `ladder of ${environment}, ${rows} ${rows === 1 ? 'row' : 'rows'}`;
  const broken = rungs.filter(({ mistakes }) => mistakes.length > 0).length;
  const verdict = ok
    ? 'The rungs stand in order.'
    : `${broken} of ${rungs.length} are not where they should be.`;
  return [title, '', linesOf(rungs, ok ? width : Infinity), '', verdict].join('\n');
}

const linesOf = (rungs: readonly RungReport[], width: number): string =>
  table(
    rungs,
    [
      { title: 'policy', of: ({ policy }) => policy },
      { title: 'kind', of: ({ kind }) => kind },
      { title: 'rollouts', of: ({ rollouts }) => String(rollouts), right: true },
      { title: 'mean', of: ({ mean }) => score(mean), right: true },
      { title: 'min', of: ({ min }) => score(min), right: true },
      { title: 'max', of: ({ max }) => score(max), right: true },
      { title: 'calls', of: ({ calls }) => (calls === null ? '–' : calls.toFixed(1)), right: true },
      { title: 'expected', of: ({ expected }) => (expected === null ? '–' : rangeOf(expected)), right: true },
      {
        title: 'verdict',
        of: ({ mistakes }) => (mistakes.length === 0 ? 'ok' : `NOT OK: ${mistakes.join('; ')}`),
      },
    ],
    width,
  );

const rangeOf = ([low, high]: readonly [number, number]): string =>
  low === high ? String(low) : `${low} to ${high}`;
