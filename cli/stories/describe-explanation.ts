import type { FailureCode } from '../../src/failure/codes.ts';
import type { Explanation } from '../../src/reports/explanation.ts';
import type { Told } from '../../src/reports/told.ts';
import { timeOfDay } from '../print/amounts.ts';
import { table } from '../print/table.ts';
import { visibleLine } from '../print/visible.ts';
import { labelled } from './labelled.ts';
import { wrap } from './wrap.ts';

/** Lines stay readable on a wide screen, too. */
const widestText = 110;
const indent = '  ';

/** Why a rollout was discarded: what happened, the evidence, whose fault it is, what the trainer was told. */
export function describeExplanation(explanation: Explanation, width: number): readonly string[] {
  const { what, timeline, whose, suspected, lastCommand } = explanation;
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
    ...(suspected === null ? [] : [indented(cut(`last command: ${lastCommand ?? 'unknown'}`, textWidth))]),
    '',
    'what the trainer was told',
    ...describeTold(explanation.told).map(indented),
  ];
}

const indented = (line: string): string => `${indent}${line}`;

/** Only then has somebody asked in vain; of every other discard the sandbox may live on. */
const wasLost = (code: FailureCode): boolean => code === 'sandbox_lost' || code === 'outcome_unknown';

/** Evidence that has a place of its own on the screen. */
const toldAbove: ReadonlySet<string> = new Set(['boot_after', 'code', 'cause', 'suspected']);

function evidenceLines({ code, epoch, admitted, evidence }: Explanation) {
  const seen = Object.entries(evidence).filter(([name, value]) => !toldAbove.has(name) && value !== null);
  return [
    ['ran in', epoch.before ?? 'no sandbox'] as const,
    ...(wasLost(code) ? [['afterwards', `${epoch.after ?? 'nothing of it'} answered`] as const] : []),
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

function cut(text: string, width: number): string {
  const line = visibleLine(text);
  return line.length <= width ? line : `${line.slice(0, width - 1)}…`;
}
