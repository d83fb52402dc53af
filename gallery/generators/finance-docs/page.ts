import { type Chance, chanceOf } from '../chance.ts';
import type { Company } from './companies.ts';
import type { Line, Schedule } from './schedules.ts';

/** One page of a yearly report, in the fields that FinQA's rows have. */
export type Page = {
  /** `HARG/2016/page_23.pdf`, as in FinQA. */
  readonly filename: string;
  readonly pre_text: readonly string[];
  readonly post_text: readonly string[];
  readonly table: readonly (readonly string[])[];
};

export type Unit = 'thousands' | 'millions';

/** What stands in a page's table, as numbers of its unit: a question's truth is computed from what is printed. */
export type Figures = {
  readonly unit: Unit;
  /** Newest first; the first is the report's own. */
  readonly years: readonly number[];
  readonly lines: readonly { readonly line: Line; readonly values: readonly number[] }[];
  readonly total: readonly number[];
};

export type Printed = { readonly page: Page; readonly figures: Figures; readonly restated: boolean };

/** So many reports say other figures of the years before than the reports of those years did. */
const restatedShare = 0.25;
const otherUnitShare = 0.15;

export type Occasion = {
  readonly company: Company;
  readonly relative: Company;
  readonly schedule: Schedule;
  readonly year: number;
  /** Of the page in its report; unique there. */
  readonly number: number;
};

export function printPage({ company, relative, schedule, year, number }: Occasion, seed: string): Printed {
  const chance = chanceOf(`${seed} ${company.ticker} ${schedule.name} ${year}`);
  const restated = chance.happens(restatedShare);
  const usual: Unit = company.size > 3e6 ? 'millions' : 'thousands';
  const unit = chance.happens(otherUnitShare) ? otherUnit[usual] : usual;
  const years = Array.from({ length: schedule.years }, (_, index) => year - index);
  const lines = schedule.lines.map((line) => ({
    line,
    values: years.map((each, index) => {
      const first = reported(company, line, each, seed);
      return inUnit(restated && index > 0 ? first * recast(company, line, year, seed) : first, unit);
    }),
  }));
  const total = years.map((_, index) =>
    roundTo(
      lines.reduce((sum, { values }) => sum + (values[index] ?? 0), 0),
      1,
    ),
  );
  const figures = { unit, years, lines, total };
  const filename = `${company.ticker}/${year}/page_${number}.pdf`;
  const text = textOf({ company, relative, schedule, year, restated }, chance);
  return { page: { filename, ...text, table: tableOf(figures, schedule.total) }, figures, restated };
}

const otherUnit: Readonly<Record<Unit, Unit>> = { thousands: 'millions', millions: 'thousands' };

/** In thousands of dollars, as the report of that year itself has it. A line keeps its size and drifts. */
function reported(company: Company, line: Line, year: number, seed: string): number {
  const own = chanceOf(`${seed} ${company.ticker} ${line.label}`);
  const size = company.size * line.share * own.between(0.5, 1.7);
  const drift = own.between(-0.06, 0.14);
  const noise = chanceOf(`${seed} ${company.ticker} ${line.label} ${year}`).between(0.8, 1.25);
  return size * (1 + drift) ** (year - 2010) * noise;
}

const recast = (company: Company, line: Line, year: number, seed: string): number =>
  chanceOf(`${seed} ${company.ticker} ${line.label} restated ${year}`).between(0.84, 1.16);

const inUnit = (thousands: number, unit: Unit): number =>
  unit === 'thousands' ? Math.round(thousands) : roundTo(thousands / 1000, 1);

export const roundTo = (value: number, decimals: number): number =>
  Math.round(value * 10 ** decimals) / 10 ** decimals;

function tableOf({ unit, years, lines, total }: Figures, totalLabel: string): Page['table'] {
  const rows = lines.map(({ line, values }, index) => [
    line.label,
    ...values.map((value) => (index === 0 ? `$ ${value}` : String(value))),
  ]);
  return [
    [`( in ${unit} )`, ...years.map(String)],
    ...rows,
    [totalLabel, ...total.map((value) => `$ ${value}`)],
  ];
}

/** Sentences that stand in every report, whatever the page is about: what search has to see through. */
const boilerplate = [
  'the accompanying notes are an integral part of these consolidated financial statements of {name} .',
  '{name} was separated from {relative} in {earlier} , and the two have since had no common management .',
  'certain amounts of prior years have been reclassified to conform to the presentation of the current year .',
  'management of the {business} believes that its estimates are reasonable , although actual results could differ .',
  'forward-looking statements on this page are subject to risks that are described in item 1a .',
  'interest rates , fuel prices and exchange rates affect the results of a {business} .',
  'the board approved a dividend of $ {small} million and a programme to repurchase shares .',
  'in {place} , where the head office is , about {small} hundred people were employed at year end .',
  'sales and services to related parties , among them {relative} , were made on the terms of the market .',
  'the company adopted new guidance on leases , on revenue from customers and on pension cost .',
  'taxes , interest and rent that were paid in the year are shown in the statement of cash flows .',
  'equipment , buildings and software are depreciated over their useful lives by the straight-line method .',
  'notes and commercial paper of {relative} are not guaranteed by {name} .',
  'the accounting for income taxes requires judgement about the future of foreign operations .',
  'liquidity is expected to suffice for capital expenditures and for the service of debt .',
  'legal proceedings in {place} are not expected to have a material effect .',
];

type Told = Omit<Occasion, 'number'> & { readonly restated: boolean };

function textOf({ company, relative, schedule, year, restated }: Told, chance: Chance) {
  const filled = (sentence: string): string =>
    sentence
      .replaceAll('{name}', company.name.toLowerCase())
      .replaceAll('{relative}', relative.name.toLowerCase())
      .replaceAll('{business}', company.business.toLowerCase())
      .replaceAll('{place}', company.place.toLowerCase())
      .replaceAll('{year}', String(year))
      .replaceAll('{earlier}', () => String(year - chance.integer(5, 14)))
      .replaceAll('{small}', () => String(chance.integer(3, 48)));
  const filler = chance.some(boilerplate, chance.integer(6, 9)).map(filled);
  const note = `amounts of years before ${year} have been restated for discontinued operations .`;
  const half = Math.ceil(filler.length / 2);
  return {
    pre_text: [
      `${company.name.toLowerCase()} 2013 ${year} form 10-k`,
      `${schedule.title} .`,
      ...filler.slice(0, half),
      ...schedule.before.map(filled),
    ],
    post_text: [...(restated ? [note] : []), ...schedule.after.map(filled), ...filler.slice(half)],
  };
}
