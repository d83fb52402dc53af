import { chanceOf } from '../chance.ts';
import { type Company, inventCompanies } from './companies.ts';
import { type Page, type Printed, printPage } from './page.ts';
import { askAbout } from './questions.ts';
import { type Schedule, schedules } from './schedules.ts';

/** One row of the dataset: what FinQA keeps under `qa`, flat, and the page that has the answer. */
export type Row = {
  readonly id: string;
  readonly question: string;
  readonly answer: string;
  readonly program: string;
  /** The page; and whose it is, by which train and eval are apart. */
  readonly document: string;
  readonly company: string;
};

export type Library = { readonly pages: readonly Page[]; readonly rows: readonly Row[] };

/** Another seed is another dataset, and so another version of the environment. */
export const seed = 'finance-docs 1';

const reportsOfCompany = 4;
/** The first report of a company is of one of these years. */
const firstYears = [2005, 2014] as const;
/** Some 1,100 questions of 2,800 pages. */
const questionsPerPage = 0.4;

/** 2,800 pages and the questions about them, the same for the same seed. */
export function makeLibrary(seed: string): Library {
  const companies = inventCompanies(chanceOf(`${seed} companies`));
  const sheets = companies.flatMap((company, index) =>
    reportsOf(company, relativeOf(companies, index), seed),
  );
  return {
    pages: sheets.map(({ printed }) => printed.page),
    rows: sheets.flatMap((sheet) => questionsOf(sheet, seed)),
  };
}

/** Another one of the family: mentioned on its pages, and found by whoever searches for the family's name. */
function relativeOf(companies: readonly Company[], index: number): Company {
  const family = index - (index % 4);
  const relative = companies[family + ((index + 1) % 4)];
  if (relative === undefined) throw new Error(`company ${index} has no family`);
  return relative;
}

type Sheet = { readonly company: Company; readonly schedule: Schedule; readonly printed: Printed };

function reportsOf(company: Company, relative: Company, seed: string): readonly Sheet[] {
  const first = chanceOf(`${seed} ${company.ticker} first year`).integer(...firstYears);
  const years = Array.from({ length: reportsOfCompany }, (_, index) => first + index);
  return years.flatMap((year) => {
    const chance = chanceOf(`${seed} ${company.ticker} ${year} numbers`);
    // Drawn from a hundred without returning: unique in its report, so that no two pages have one path.
    const numbers = chance.some(
      Array.from({ length: 100 }, (_, index) => index + 20),
      schedules.length,
    );
    return schedules.map((schedule, index) => {
      const occasion = { company, relative, schedule, year, number: numbers[index] ?? 0 };
      return { company, schedule, printed: printPage(occasion, seed) };
    });
  });
}

function questionsOf({ company, schedule, printed: { page, figures } }: Sheet, seed: string): readonly Row[] {
  const chance = chanceOf(`${seed} ${page.filename} questions`);
  const asked = chance.happens(questionsPerPage) ? askAbout({ company, schedule, figures }, chance) : null;
  if (asked === null) return [];
  return [{ id: `${page.filename}-1`, ...asked, document: page.filename, company: company.ticker }];
}
