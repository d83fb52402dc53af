import { type Limits, type Panel, type Step, type Unit, units } from './definition.ts';

/** What a panel says of itself when it is asked, in Markdown: how to read it, what to do, and why its colours change where they do. */
export const descriptionOf = ({ reading, todo, limits, unit }: Panel): string =>
  [
    reading,
    `**${'none' in limits ? 'When it looks odd' : 'When it is red'}:** ${todo}`,
    limitsOf(limits, unit),
  ].join('\n\n');

/** Where the colours change, and why there. */
export const limitsOf = (limits: Limits, unit: Unit): string =>
  'none' in limits
    ? `No limit: ${limits.none}.`
    : `${capital(limits.below)} below; ${limits.steps.map((step) => stepOf(step, unit)).join('; ')}.`;

/** Where the colours change, without the reasons. */
export const thresholdsOf = (limits: Limits, unit: Unit): string =>
  'none' in limits
    ? 'none'
    : limits.steps.map(({ from, colour }) => `${colour} from ${figure(from, unit)}`).join(', ');

const stepOf = ({ from, colour, because }: Step, unit: Unit): string =>
  `${colour} from ${figure(from, unit)}: ${because}`;

const capital = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`;

const dayS = 86_400;

/** A figure as people write it. */
export function figure(value: number, unit: Unit): string {
  if (unit === 'yesNo') return value === 0 ? 'no' : 'yes';
  if (unit === 'share') return `${Number((value * 100).toPrecision(4))}${units.share.sign}`;
  if (unit === 'seconds' && value >= dayS) return value === dayS ? '1 day' : `${value / dayS} days`;
  return `${value}${units[unit].sign}`;
}

/** A unit as it is printed after a figure. */
export const unitText = (unit: Unit): string => units[unit].text;
