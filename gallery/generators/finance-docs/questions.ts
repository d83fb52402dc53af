import type { Chance } from '../chance.ts';
import type { Company } from './companies.ts';
import { type Figures, roundTo } from './page.ts';
import type { Line, Schedule } from './schedules.ts';

/** A question whose answer stands on one page, and how it is worked out there. */
export type Question = {
  readonly question: string;
  readonly answer: string;
  /** As FinQA writes a program: `divide(subtract(41.3, 38.0), 38.0)`. */
  readonly program: string;
};

type Asked = { readonly company: Company; readonly schedule: Schedule; readonly figures: Figures };

/** What is asked for, and its true value: millions of dollars, or a share of one. */
type Sum = {
  readonly asks: string;
  readonly value: number;
  readonly percent: boolean;
  readonly program: string;
};

export function askAbout({ company, schedule, figures }: Asked, chance: Chance): Question | null {
  const sum = chance.pick(kinds)({ schedule, figures, chance });
  if (sum === null) return null;
  const who = whoIs(company, chance);
  const scale = sum.percent ? '' : ', in millions of dollars';
  return {
    question: `${sum.asks.replaceAll('{who}', who)}${scale}?`,
    answer: written(sum, chance),
    program: sum.program,
  };
}

/** By name, by ticker, or by what somebody says who knows neither. */
function whoIs({ name, ticker, description }: Company, chance: Chance): string {
  const turn = chance.next();
  if (turn < 0.55) return name;
  return turn < 0.8 ? ticker : description;
}

type Given = { readonly schedule: Schedule; readonly figures: Figures; readonly chance: Chance };

const millions = (figures: Figures, value: number): number =>
  figures.unit === 'millions' ? value : value / 1000;

function drawn({ figures, chance }: Given) {
  const [first, second] = chance.some(figures.lines, 2);
  return first === undefined || second === undefined
    ? null
    : { first, second, asked: called(first.line, chance), other: called(second.line, chance) };
}

/** The page's own word more often than not; else what people say. */
const called = ({ asked }: Line, chance: Chance): string =>
  chance.happens(0.5) ? asked[0] : chance.pick(asked);

function level(given: Given): Sum | null {
  const found = drawn(given);
  const value = found?.first.values[0];
  if (found === null || value === undefined) return null;
  const asks = given.chance.pick([
    `What was {who}'s figure for ${found.asked} in ${given.figures.years[0]}`,
    `How much did {who} report in ${given.figures.years[0]} as ${found.asked}`,
  ]);
  return { asks, value: millions(given.figures, value), percent: false, program: `value(${value})` };
}

function difference(given: Given): Sum | null {
  const found = drawn(given);
  const [now, before] = found?.first.values ?? [];
  if (found === null || now === undefined || before === undefined) return null;
  const [year, last] = given.figures.years;
  return {
    asks: `By how much did ${found.asked} of {who} change from ${last} to ${year}`,
    value: millions(given.figures, now - before),
    percent: false,
    program: `subtract(${now}, ${before})`,
  };
}

function growth(given: Given): Sum | null {
  const found = drawn(given);
  const [now, before] = found?.first.values ?? [];
  if (found === null || now === undefined || before === undefined || before === 0) return null;
  const [year, last] = given.figures.years;
  const asks = given.chance.pick([
    `What was the percentage change in ${found.asked} of {who} from ${last} to ${year}`,
    `By what percentage did ${found.asked} at {who} grow or shrink between ${last} and ${year}`,
  ]);
  const program = `divide(subtract(${now}, ${before}), ${before})`;
  return { asks, value: (now - before) / before, percent: true, program };
}

function share(given: Given): Sum | null {
  const found = drawn(given);
  const part = found?.first.values[0];
  const whole = given.figures.total[0];
  if (found === null || part === undefined || whole === undefined || whole === 0) return null;
  const asks = `What percentage of the ${given.schedule.total} of {who} in ${given.figures.years[0]} was ${found.asked}`;
  return { asks, value: part / whole, percent: true, program: `divide(${part}, ${whole})` };
}

function together(given: Given): Sum | null {
  const found = drawn(given);
  const [one, other] = [found?.first.values[0], found?.second.values[0]];
  if (found === null || one === undefined || other === undefined) return null;
  const asks = `What do ${found.asked} and ${found.other} of {who} come to in ${given.figures.years[0]}`;
  return {
    asks,
    value: millions(given.figures, one + other),
    percent: false,
    program: `add(${one}, ${other})`,
  };
}

/** Percentages are what FinQA asks for most. */
const kinds = [level, difference, growth, growth, share, share, together] as const;

/**
 * Unevenly, as the answers of a real set are: with signs and without, as a percentage or as its ratio, and one in eight finer
 * than the rest. A tenth of a percent, or of a million, is the rule that the prompt tells.
 */
function written({ value, percent }: Sum, chance: Chance): string {
  const turn = chance.next();
  const decimals = turn < 0.88 ? 1 : 2;
  if (!percent) {
    const amount = roundTo(value, decimals);
    return chance.happens(0.4) ? `$ ${amount}` : String(amount);
  }
  const hundredths = roundTo(value * 100, decimals);
  if (chance.happens(0.2)) return String(roundTo(hundredths / 100, decimals + 2));
  return chance.happens(0.5) ? `${hundredths}%` : `${hundredths} %`;
}
