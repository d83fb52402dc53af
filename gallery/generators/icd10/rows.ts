import { chanceOf } from '../chance.ts';
import type { Entry } from './tabular.ts';
import { makeVisits, seed, type Visit } from './visits.ts';

/** Every tenth patient is kept for evaluation, with all visits. */
const evalEvery = 10;

export function visitRows(entries: readonly Entry[]) {
  const visits = makeVisits(entries, seed);
  const patients = [...new Set(visits.map(({ patient }) => patient))];
  const kept = new Set(patients.filter((_, index) => index % evalEvery === evalEvery - 1));
  const isKept = ({ patient }: Visit) => kept.has(patient);
  return {
    train: visits.filter((visit) => !isKept(visit)).map(withReference),
    // Mixed, in an order of which ten rows already stand for the rest: CI plays no more.
    eval: chanceOf(`${seed} order 12`).some(visits.filter(isKept), visits.length).map(withReference),
  };
}

const withReference = (visit: Visit) => ({ ...visit, corral: { reference: { codes: visit.codes } } });
