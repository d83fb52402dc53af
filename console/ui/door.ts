import { visibleLine } from '#src/model/visible-text.ts';

/** Colors that programs print for terminals. */
const colors = new RegExp(`${String.fromCharCode(27)}\\[[0-9;:]{0,40}m`, 'g');

/** Text of policies, trainers and graders as a page shows it: nothing in it hides, or turns other text around. */
export const visibleText = (text: string): string =>
  text
    .replaceAll(colors, '')
    .replaceAll('\r\n', '\n')
    .split('\n')
    .map((line) => line.split('\t').map(visibleLine).join('\t'))
    .join('\n');

function clean(value: unknown): unknown {
  if (typeof value === 'string') return visibleText(value);
  if (Array.isArray(value)) return value.map(clean);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [visibleText(name), clean(each)]));
}

/** The one door: every answer of the server passes here before a view sees it. */
export const readJson = (text: string): unknown => clean(JSON.parse(text));
