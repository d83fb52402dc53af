import { visibleLine } from '../print/visible.ts';

/** Room for the names that most lists have, so that lists under one another line up. */
const usualWidth = 12;

/** Values under one another, each one line behind its name. */
export function labelled(lines: readonly (readonly [name: string, value: string])[]): readonly string[] {
  const shown = lines.map(([name, value]) => [visibleLine(name), visibleLine(value)] as const);
  const width = Math.max(usualWidth, ...shown.map(([name]) => name.length));
  return shown.map(([name, value]) => `${name.padEnd(width)} ${value}`);
}
