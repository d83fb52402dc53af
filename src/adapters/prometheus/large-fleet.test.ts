import { expect, test } from 'vitest';
import { fullInstruments, seriesOf } from '#test/support/full-metrics.ts';
import { catalogue, metricNames } from './catalogue/catalogue.ts';
import { mostSeries, type Process, type Spec } from './catalogue/spec.ts';

const largeFleet = { templates: 300, environments: 50 };
const processes: readonly Process[] = ['gateway', 'controller'];

const linesOf = (text: string, name: string) =>
  text.split('\n').filter((line) => new RegExp(`^${name}(_bucket|_sum|_count)?[ {]`).test(line)).length;

test.each(processes)(
  'a %s in which everything has happened has no 20,000 series, with 300 templates and 50 environments',
  async (process) => {
    const text = await fullInstruments(process, largeFleet).render();
    expect(seriesOf(text)).toBeGreaterThan(5_000);
    expect(seriesOf(text)).toBeLessThan(20_000);
    expect(text).not.toContain('forged');
  },
);

test.each(processes)('no metric of a %s has more series than the catalogue says', async (process) => {
  const text = await fullInstruments(process, largeFleet).render();
  const own = metricNames
    .map((name) => ({ name, spec: catalogue[name] as Spec }))
    .filter(({ spec }) => spec.by.includes(process));
  const over = own.filter(({ name, spec }) => linesOf(text, name) > mostSeries(spec, largeFleet));
  expect(over.map(({ name }) => name)).toEqual([]);
});
