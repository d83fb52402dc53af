import { makeLibrary, type Row, seed } from './library.ts';

/** Every tenth company is kept for evaluation, with all of its reports. */
const evalEvery = 10;

/** The questions of the made library; train and eval ask of different companies, and so of different documents. */
export function financeRows() {
  const { rows } = makeLibrary(seed);
  const companies = [...new Set(rows.map(({ company }) => company))];
  const kept = new Set(companies.filter((_, index) => index % evalEvery === evalEvery - 1));
  const isKept = ({ company }: Row) => kept.has(company);
  return {
    train: rows.filter((row) => !isKept(row)).map(withReference),
    eval: rows.filter(isKept).map(withReference),
  };
}

const withReference = (row: Row) => ({ ...row, corral: { reference: row.answer } });
