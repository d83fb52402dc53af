import type { Missing } from '../../src/reports/rollout-story.ts';
import { visibleLine } from '../print/visible.ts';
import { wrap } from './wrap.ts';

/** Whose part of the story is not here, and why: a gap that nobody names looks like a rollout that did nothing. */
export function describeMissing(missing: readonly Missing[], width: number): readonly string[] {
  if (missing.length === 0) return [];
  const textWidth = Math.min(width, widestText) - indent.length;
  const lines = missing.flatMap((one) => wrap(visibleLine(describe(one)), textWidth));
  return ['', 'not told', ...lines.map((line) => `${indent}${line}`)];
}

/** As the rest of a story. */
const widestText = 110;
const indent = '  ';

function describe({ keeper, heardAtMs, told, why }: Missing): string {
  const heard = why === 'it is gone' && heardAtMs !== null ? `, last heard of ${timeOf(heardAtMs)}` : '';
  const part =
    told === 'some' ? 'some of its part of the story is' : 'its part of the story, if it has one, is';
  return `${keeper}: ${why}${heard}; ${part} missing`;
}

/** With its day: it may have been yesterday. */
const timeOf = (atMs: number): string =>
  `${new Date(atMs).toISOString().slice(0, 'yyyy-mm-ddThh:mm:ss'.length)}Z`;
