import type { Explanation } from '../../src/reports/explanation.ts';
import type { Told } from '../../src/reports/told.ts';
import { timeOfDay } from '../print/amounts.ts';
import { table } from '../print/table.ts';
import { labelled } from './labelled.ts';
import { wrap } from './wrap.ts';

/** Lines stay readable on a wide screen, too. */
const widestText = 110;
const indent = '  ';

/** Why a rollout was discarded: what happened, the evidence, whose fault it is, what the trainer was told. */
export function describeExplanation(explanation: Explanation, width: number): readonly string[] {
  const { what, timeline, whose, lastCommand } = explanation;
  const textWidth = Math.min(width, widestText) - indent.length;
  const text = (sentence: string) => wrap(sentence.replaceAll('`', ''), textWidth).map(indented);
  return [
    'what happened',
    ...what.flatMap(text),
    ...timeline.map(({ atMs, what: said }) => indented(cut(`${timeOfDay(atMs)}  ${said}`, textWidth))),
    '',
    'evidence',
    ...labelled(evidenceLines(explanation)).map(indented),
    '',
    'whose fault',
    ...text(whose),
    ...(lastCommand === null ? [] : [indented(cut(`last command: ${lastCommand}`, textWidth))]),
    '',
    'what the trainer was told',
    ...describeTold(explanation.told).map(indented),
  ];
}

const indented = (line: string): string => `${indent}${line}`;

function evidenceLines({ epoch, admitted, evidence }: Explanation) {
  const seen = Object.entries(evidence).filter(([name, value]) => name !== 'boot_after' && value !== null);
  return [
    ['ran in', epoch.before ?? 'no sandbox'] as const,
    ['answers now', epoch.after ?? 'nothing of it'] as const,
    ...(admitted === null ? [] : [['delivered', deliveries[admitted] ?? admitted] as const]),
    ...seen.map(([name, value]) => [name, String(value).trim()] as const),
  ];
}

/** What `admitted` says of the call that was cut off. */
const deliveries: Readonly<Record<string, string>> = {
  yes: 'yes: the sandbox had taken the call',
  no: 'no: nothing was sent',
  unknown: 'unknown: the call was sent, and nobody could be asked how far it came',
};

function describeTold(told: readonly Told[]): readonly string[] {
  const columns = [
    { title: 'who asked', of: (line: Told) => line.to },
    { title: 'RFT face', of: (line: Told) => String(line.rft) },
    { title: 'native face', of: (line: Told) => String(line.native) },
    { title: 'code', of: (line: Told) => line.code },
    { title: 'retry', of: (line: Told) => line.retry },
  ];
  return table(told, columns).split('\n');
}

const cut = (line: string, width: number): string =>
  line.length <= width ? line : `${line.slice(0, width - 1)}…`;
