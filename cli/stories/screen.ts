import type { Missing } from '#src/reports/rollout-story.ts';
import { visibleLine } from '#src/model/visible-text.ts';

/*
 * What the screens of a rollout and of a run have in common: values behind their names, text below a heading, and what is
 * missing.
 */

/** Room for the names that most lists have, so that lists under one another line up. */
const usualWidth = 12;

/** Values under one another, each one line behind its name. */
export function labelled(lines: readonly (readonly [name: string, value: string])[]): readonly string[] {
  const shown = lines.map(([name, value]) => [visibleLine(name), visibleLine(value)] as const);
  const width = Math.max(usualWidth, ...shown.map(([name]) => name.length));
  return shown.map(([name, value]) => `${name.padEnd(width)} ${value}`);
}

/** Text in lines of at most `width` characters, broken at spaces; a longer word has a line of its own. */
export function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}

/** Lines stay readable on a wide screen, too. */
const widestText = 110;
const indent = '  ';

/** Characters that a text below a heading has. */
export const textWidth = (width: number): number => Math.min(width, widestText) - indent.length;

export const indented = (line: string): string => `${indent}${line}`;

/** Which process's part of the timeline is missing, and why. An unnamed gap would look like a rollout that did nothing. */
export function describeMissing(missing: readonly Missing[], width: number): readonly string[] {
  if (missing.length === 0) return [];
  const lines = missing.flatMap((one) => wrap(visibleLine(describe(one)), textWidth(width)));
  return ['', 'not told', ...lines.map(indented)];
}

function describe({ keeper, heardAtMs, told, why }: Missing): string {
  const heard = why === 'it is gone' && heardAtMs !== null ? `, last heartbeat ${timeOf(heardAtMs)}` : '';
  const part =
    told === 'some' ? 'some of its part of the story is' : 'its part of the story, if it has one, is';
  return `${keeper}: ${why}${heard}; ${part} missing`;
}

/** With its day: it may have been yesterday. */
const timeOf = (atMs: number): string =>
  `${new Date(atMs).toISOString().slice(0, 'yyyy-mm-ddThh:mm:ss'.length)}Z`;
