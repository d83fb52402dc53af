import { expect, test } from 'vitest';
import { catalogue, metricNames } from './catalogue/catalogue.ts';
import type { Process, Spec } from './catalogue/spec.ts';
import { createInstruments } from './instruments.ts';

const processes: readonly Process[] = ['gateway', 'controller'];

const specOf = (name: (typeof metricNames)[number]): Spec => catalogue[name];

const seriesOf = (text: string, name: string) =>
  text.split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));

test.each(processes)(
  'a %s tells every metric of the catalogue that is its own, and none beside them',
  async (process) => {
    const text = await createInstruments(process, () => ['shell']).render();
    const told = [...text.matchAll(/^# HELP (corral_\w+) /gm)].map(([, name = '']) => name);
    const own = metricNames.filter((name) => specOf(name).by.includes(process));
    expect(new Set(told)).toEqual(new Set(own));
  },
);

test('our own failures are counted from the start, at 0, in each environment', async () => {
  const text = await createInstruments('gateway', () => ['shell', 'maths']).render();
  for (const environment of ['shell', 'maths']) {
    const lost = 'blame="infrastructure",code="sandbox_lost"';
    expect(text).toContain(
      `corral_calls_settled_total{outcome="infrastructure_failure",${lost},environment="${environment}"} 0\n`,
    );
    expect(text).toContain(
      `corral_verdicts_total{verdict="discard",${lost},suspected="command",environment="${environment}"} 0\n`,
    );
  }
});

test('an environment that came by reload has its counters at 0 at the next scrape', async () => {
  const inForce = ['shell'];
  const instruments = createInstruments('gateway', () => inForce);
  await instruments.render();
  inForce.push('new');
  expect(seriesOf(await instruments.render(), 'corral_verdicts_total').join()).toContain('environment="new"');
});

test('what happens in an environment before the next scrape is counted under its name', async () => {
  const inForce: string[] = [];
  const instruments = createInstruments('gateway', () => inForce);
  inForce.push('new');
  instruments.observe('corral_grade_seconds', { environment: 'new' }, 1_000);
  expect(await instruments.render()).toContain('corral_grade_seconds_sum{environment="new"} 1\n');
});

test('environments that nobody has are one series, however many are named', async () => {
  const instruments = createInstruments('gateway', () => ['shell']);
  for (let index = 0; index < 1_000; index += 1) {
    instruments.observe('corral_grade_seconds', { environment: `forged ${index}"} 1\n` }, 10);
  }
  const counts = seriesOf(await instruments.render(), 'corral_grade_seconds_count');
  expect(counts).toEqual(['corral_grade_seconds_count{environment="unknown"} 1000']);
});

test('a code with a blame that is not its own, or a code that nobody knows, is unknown', async () => {
  const instruments = createInstruments('gateway', () => []);
  const face = 'rft';
  instruments.count('corral_gateway_failures_total', { face, blame: 'model', code: 'sandbox_lost' });
  instruments.count('corral_gateway_failures_total', { face, blame: 'infrastructure', code: 'made up' });
  const text = await instruments.render();
  expect(text).toContain('corral_gateway_failures_total{face="rft",blame="unknown",code="unknown"} 2\n');
  expect(text).not.toContain('made up');
});

test('a label whose values nobody can list beforehand has an end all the same', async () => {
  const instruments = createInstruments('gateway', () => []);
  for (let index = 0; index < 200; index += 1) {
    const labels = { face: 'rft', route: `GET /v1/${index}` };
    instruments.observe('corral_gateway_request_duration_seconds', labels, 1);
  }
  const text = await instruments.render();
  expect(seriesOf(text, 'corral_gateway_request_duration_seconds_count')).toHaveLength(97);
  expect(text).toContain('corral_gateway_request_duration_seconds_count{face="rft",route="unknown"} 104\n');
});

const pool = (template: string, value: number) => ({ labels: { template, state: 'ready' }, value });

test('what is shown again takes the place of what was there', async () => {
  const instruments = createInstruments('controller', () => []);
  instruments.show('corral_fleet_pool', [pool('aaa', 3), pool('bbb', 1)]);
  instruments.show('corral_fleet_pool', [pool('bbb', 5)]);
  const series = seriesOf(await instruments.render(), 'corral_fleet_pool');
  expect(series).toEqual(['corral_fleet_pool{template="bbb",state="ready"} 5']);
});
