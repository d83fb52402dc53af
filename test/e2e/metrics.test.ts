import { afterAll, beforeAll, expect, test } from 'vitest';
import { catalogue, metricNames } from '#src/adapters/prometheus/catalogue/catalogue.ts';
import type { Spec } from '#src/adapters/prometheus/catalogue/spec.ts';
import { type FleetOfTest, shellEnvironment, startFleetOfTest } from '../support/fleet.ts';

let world: FleetOfTest;
beforeAll(async () => {
  world = await startFleetOfTest({ environments: { shell: shellEnvironment } });
  await world.rft.call({ trace: 'one', call: 'c1', command: 'echo one' });
  await world.rft.call({ trace: 'one', call: 'c1', command: 'echo one' });
  await world.rft.grade({ trace: 'one' });
});
afterAll(() => world.stop());

type Series = { readonly name: string; readonly labels: ReadonlyMap<string, string>; readonly value: number };

const scrape = async (url: string) => (await fetch(`${url}/metrics`)).text();
const scrapeBoth = async () =>
  (await Promise.all([scrape(world.fleet.gatewayUrl), scrape(world.fleet.controllerUrl)])).join('\n');

const seriesLine = /^(?<name>corral_\w+)(?:\{(?<labels>.*)\})? (?<value>\S+)$/gm;
const labelPair = /(\w+)="((?:[^"\\]|\\.)*)"/g;

function seriesIn(text: string): readonly Series[] {
  return [...text.matchAll(seriesLine)].map(({ groups = {} }) => ({
    name: groups['name'] ?? '',
    labels: new Map(
      [...(groups['labels'] ?? '').matchAll(labelPair)].map(([, label = '', value = '']) => [label, value]),
    ),
    value: Number(groups['value']),
  }));
}

/** A histogram is told in three kinds of lines, which have its name and more. */
const metricOf = ({ name }: Series): string =>
  Object.hasOwn(catalogue, name) ? name : name.replace(/_(bucket|sum|count)$/, '');

const specs: Readonly<Record<string, Spec | undefined>> = catalogue;

test('a gateway and a controller tell every metric of the catalogue, and none that is not in it', async () => {
  const told = [...(await scrapeBoth()).matchAll(/^# HELP (corral_\w+) /gm)].map(([, name]) => name);
  expect(new Set(told)).toEqual(new Set(metricNames));
});

test('every series has the labels that the catalogue says, and no others', async () => {
  const wrong = seriesIn(await scrapeBoth()).filter((series) => {
    const names = new Set(series.labels.keys());
    names.delete('le');
    const own = specs[metricOf(series)]?.labels.flatMap((labels) => labels.names);
    return own === undefined || new Set(own).symmetricDifference(names).size > 0;
  });
  expect(wrong).toEqual([]);
});

/** Of a fleet on one machine, with a key that does not end. */
const notHere: ReadonlySet<string> = new Set([
  'corral_kubernetes_call_duration_seconds',
  'corral_key_expiry_timestamp_seconds',
]);

test('after one rollout each of them has a value', async () => {
  await expect
    .poll(async () => {
      const there = new Set(seriesIn(await scrapeBoth()).map(metricOf));
      return metricNames.filter((name) => !there.has(name) && !notHere.has(name));
    })
    .toEqual([]);
});

async function valueOf(name: string, labels: Readonly<Record<string, string>>): Promise<number> {
  const asked = Object.entries(labels);
  return seriesIn(await scrapeBoth())
    .filter(
      (series) => series.name === name && asked.every(([label, value]) => series.labels.get(label) === value),
    )
    .reduce((sum, { value }) => sum + value, 0);
}

test('one rollout is told once: its sandbox, its call, the answer that was given again, its grade and its cost', async () => {
  const environment = 'shell';
  expect(await valueOf('corral_obtain_seconds_count', { environment })).toBe(1);
  expect(await valueOf('corral_call_seconds_count', { environment, part: 'command' })).toBe(1);
  expect(await valueOf('corral_replays_total', { face: 'rft' })).toBe(1);
  expect(await valueOf('corral_grade_seconds_count', { environment })).toBe(1);
  expect(await valueOf('corral_verdicts_total', { environment, verdict: 'scorable' })).toBe(1);
  expect(await valueOf('corral_calls_settled_total', { environment, outcome: 'completed' })).toBe(1);
  const cost = () => valueOf('corral_fleet_sandbox_seconds_total', { environment, state: 'scored' });
  await expect.poll(cost).toBeGreaterThan(0);
});

test('what callers and policies make up is told nowhere, and makes no series', async () => {
  const before = seriesIn(await scrapeBoth()).length;
  for (let index = 0; index < 30; index += 1) {
    const forged = `forged${index}`;
    await world.rft.call({ trace: forged, call: forged, command: 'true', environment: forged });
    await world.rft.call({ trace: 'forged', call: forged, command: forged, tool: forged });
    await world.native.get(`/v1/${forged}/forged%22%7D%201%0a`);
    await world.native.get(`/v1/rollouts/${forged}`);
  }
  const text = await scrapeBoth();
  expect(text).not.toContain('forged');
  // The codes, statuses and routes that these were answered with, each once and not thirty times.
  expect(seriesIn(text).length - before).toBeLessThan(120);
});
