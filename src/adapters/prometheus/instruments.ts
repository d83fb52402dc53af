import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

export type Instruments = ReturnType<typeof createInstruments>;

/**
 * A registry of one process: its own figures are in it from the start, whatever else it counts is made here. Labels have
 * few values: template, code or cause; never a rollout, run or sandbox, of which there is no end.
 */
export function createInstruments() {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  return {
    counter: <Label extends string>(name: string, help: string, labelNames: readonly Label[] = []) =>
      new Counter<Label>({ name, help, labelNames: [...labelNames], registers }),
    gauge: <Label extends string>(name: string, help: string, labelNames: readonly Label[] = []) =>
      new Gauge<Label>({ name, help, labelNames: [...labelNames], registers }),
    histogram: <Label extends string>(
      name: string,
      help: string,
      labelNames: readonly Label[],
      buckets: readonly number[],
    ) => new Histogram<Label>({ name, help, labelNames: [...labelNames], buckets: [...buckets], registers }),
    /** Everything in the text format that Prometheus scrapes. */
    render: () => registry.metrics(),
    /** Media type of what `render` gives. */
    contentType: registry.contentType,
  };
}
