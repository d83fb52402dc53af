import { timingNames, timingRelations, timingTable } from '#src/model/timings.ts';
import { table, wrapped } from '../failures-page/markdown.ts';

/** docs/timings.md, whole: how long a fleet waits, and what must hold between these durations. */
export function timingsPage(): string {
  return `${[
    '<!-- Written by tools/write-timings-page.ts from src/model/timings.ts. Change it there. -->',
    '# Timings',
    ...introduction.map((paragraph) => wrapped(paragraph)),
    '## Patience',
    'If one is shorter, a request ends sooner with a retryable failure, or less is kept for repeats.',
    tableOf('patience'),
    '## Detection',
    'Each decides that something is lost. The shortest value is 5 s, because a busy machine would look broken otherwise.',
    tableOf('detection'),
    '## Relations',
    'Gateways and controllers check them when they start.',
    table(
      ['rule', 'because'],
      timingRelations.map(({ rule, because }) => [`\`${rule}\``, because]),
    ),
  ].join('\n\n')}\n`;
}

const introduction = [
  'The defaults are for production. To change some of them, set `CORRAL_TIMINGS` to JSON with milliseconds by name, such as ' +
    '`{"requestHoldMs": 300000}`. Set the same value for every gateway and every controller of a fleet.',
];

function tableOf(wanted: 'patience' | 'detection'): string {
  const names = timingNames.filter((name) => timingTable[name].kind === wanted);
  return table(
    ['name', 'default', 'what'],
    names.map((name) => [`\`${name}\``, `${timingTable[name].ms / 1_000} s`, timingTable[name].what]),
  );
}
