/** Room for the names that most lists have, so that lists under one another line up. */
const usualWidth = 12;

/** Values under one another, each behind its name. */
export function labelled(lines: readonly (readonly [name: string, value: string])[]): readonly string[] {
  const width = Math.max(usualWidth, ...lines.map(([name]) => name.length));
  return lines.map(([name, value]) => `${name.padEnd(width)} ${value}`);
}
