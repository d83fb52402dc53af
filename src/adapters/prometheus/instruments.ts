import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { createAdmission, createEnvironmentNames, type EnvironmentNames } from './admission.ts';
import {
  catalogue,
  type LabelsOf,
  type MetricName,
  metricNames,
  type NameOf,
} from './catalogue/catalogue.ts';
import type { Process, Spec } from './catalogue/spec.ts';

export type Instruments = ReturnType<typeof createInstruments>;

type Said = Readonly<Record<string, string>>;

/** One value of a metric that is told as it is now. */
export type Shown<Name extends MetricName> = { readonly labels: LabelsOf<Name>; readonly value: number };

/** Each look wakes the process: at the library's own 10 ms they were half of what an idle gateway costs. */
const loopLookMs = 100;

/**
 * The registry of one process, with its own figures and every metric of the catalogue that such a process tells. A label
 * can only say what the catalogue lets it say, so there is an end to the series whoever calls. `environments` are the
 * names of those in force now.
 */
export function createInstruments(process: Process, environments: () => readonly string[]) {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: loopLookMs });
  const names = createEnvironmentNames(environments);
  const own = metricNames.filter((name) => specOf(name).by.includes(process));
  const made = new Map<MetricName, Instrument>(own.map((name) => [name, make(name, names, registry)]));
  const find = (name: MetricName): Instrument => {
    const found = made.get(name);
    if (found === undefined) throw new Error(`${name} is nothing that a ${process} tells`);
    return found;
  };
  return {
    /** Counts one, or as many as are said. */
    count: <Name extends NameOf<'counter'>>(name: Name, labels: LabelsOf<Name>, by = 1) =>
      find(name).add(labels, by),
    set: <Name extends NameOf<'gauge'>>(name: Name, labels: LabelsOf<Name>, value: number) =>
      find(name).set(labels, value),
    /** In place of everything that the metric said before: what is no longer there must leave. */
    show: <Name extends NameOf<'gauge' | 'counter'>>(name: Name, all: readonly Shown<Name>[]) => {
      const instrument = find(name);
      instrument.clear();
      for (const { labels, value } of all) instrument.add(labels, value);
    },
    observe: <Name extends NameOf<'histogram'>>(name: Name, labels: LabelsOf<Name>, durationMs: number) =>
      find(name).add(labels, durationMs / 1000),
    /** Everything in the text format that Prometheus scrapes. */
    render: () => {
      names.look();
      return registry.metrics();
    },
    /** Media type of what `render` gives. */
    contentType: registry.contentType,
  };
}

const specOf = (name: MetricName): Spec => catalogue[name];

/** `add` counts, sums or observes, as the kind of metric does. */
type Instrument = {
  add(labels: Said, value: number): void;
  set(labels: Said, value: number): void;
  clear(): void;
};

function make(name: MetricName, environments: EnvironmentNames, registry: Registry): Instrument {
  const spec = specOf(name);
  const labelNames = spec.labels.flatMap((labels) => labels.names);
  const options = { name, help: spec.help, labelNames, registers: [registry] };
  const admission = createAdmission(spec.labels, environments);
  if (spec.kind === 'histogram') {
    const histogram = new Histogram({ ...options, buckets: [...spec.buckets.seconds] });
    const add = (labels: Said, seconds: number) => histogram.observe(admission.admit(labels), seconds);
    return { add, set: add, clear: () => histogram.reset() };
  }
  if (spec.kind === 'counter') {
    const counter = new Counter(options);
    const add = (labels: Said, by: number) => counter.inc(admission.admit(labels), by);
    startAtZero(add, spec, environments);
    return { add, set: add, clear: () => counter.reset() };
  }
  const gauge = new Gauge(options);
  return {
    add: (labels, by) => gauge.inc(admission.admit(labels), by),
    set: (labels, value) => gauge.set(admission.admit(labels), value),
    clear: () => {
      gauge.reset();
      admission.forget();
    },
  };
}

function startAtZero(
  add: Instrument['add'],
  { fromStart, labels }: Extract<Spec, { kind: 'counter' }>,
  environments: EnvironmentNames,
): void {
  const zero = (more: Said) => {
    for (const row of fromStart) add({ ...row, ...more }, 0);
  };
  if (labels.some(({ kind }) => kind === 'environment'))
    environments.onNew((environment) => zero({ environment }));
  else zero({});
}
