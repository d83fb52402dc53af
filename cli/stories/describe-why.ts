import type { PartReason, ToldWhy } from '#src/ports/event-log.ts';
import { score } from '../print/amounts.ts';
import { table } from '../print/table.ts';
import { visibleLine } from '../print/visible.ts';
import { indented, labelled, textWidth } from './screen.ts';

/** Lines of a grader's stderr that a screen has room for. */
const mostStderrLines = 8;

/** Why a rollout has its score, or has none: what was answered, what was true, and what every part of the grader says of it. */
export function describeWhy(why: ToldWhy, isScored: boolean, width: number): readonly string[] {
  const most = textWidth(width);
  const compared = [
    ['item', why.itemId ?? '(it has no id)'] as const,
    ...named('answer', why.answer),
    ...named('reference', why.reference),
  ];
  return [
    isScored ? 'why this score' : 'what its grader was asked',
    ...labelled(compared).map((line) => indented(cut(line, most))),
    '',
    ...table(why.parts, columns, most).split('\n').map(indented),
    ...describeStderr(why.stderr, most),
  ];
}

const named = (what: string, texts: Readonly<Record<string, string>>) =>
  Object.entries(texts).map(([path, text]) => [what, `${path} = ${text}`] as const);

const columns = [
  { title: 'part', of: ({ part }: PartReason) => part },
  { title: 'score', of: (part: PartReason) => score(part.score), right: true },
  { title: 'reason', of: ({ reason }: PartReason) => visibleLine(reason) },
];

function describeStderr(stderr: string, most: number): readonly string[] {
  if (stderr.trim() === '') return [];
  const lines = stderr.trimEnd().split('\n').slice(-mostStderrLines);
  return ['', 'the end of its grader’s stderr', ...lines.map((line) => indented(cut(line, most)))];
}

function cut(text: string, most: number): string {
  const line = visibleLine(text);
  return line.length <= most ? line : `${line.slice(0, most - 1)}…`;
}
