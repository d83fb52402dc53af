import { describe, expect, it } from 'vitest';
import { createPrometheus } from '#src/adapters/prometheus/prometheus.ts';
import type { Metrics } from '#src/ports/metrics.ts';
import { createFakeMetrics } from '../fakes/metrics.ts';

// Counting stands in the middle of loops that must go on, so no recorder may throw, however often it is told.
const recorders: Readonly<Record<string, () => Metrics>> = {
  'the fake of tests': () => createFakeMetrics(),
  Prometheus: () => createPrometheus({ version: '0', environments: () => [] }).metrics,
};

const told: Readonly<Record<keyof Metrics, (metrics: Metrics) => void>> = {
  launchEnded: (metrics) => metrics.launchEnded({ type: 'failed', result: 'start_failed' }, 0),
  poolCounted: (metrics) => metrics.poolCounted([]),
  startsCounted: (metrics) => metrics.startsCounted(1, 8),
  ownersUnlabelled: (metrics) => metrics.ownersUnlabelled(2),
  sandboxLost: (metrics) => metrics.sandboxLost('evicted', 'tainted'),
  sandboxDestroyed: (metrics) => metrics.sandboxDestroyed(),
  garbageFound: (metrics) => metrics.garbageFound('unbound'),
  rolloutsExpired: (metrics) => metrics.rolloutsExpired(0),
  grantsTakenBack: (metrics) => metrics.grantsTakenBack(0),
  loopFailed: (metrics) => metrics.loopFailed('overdue calls', 'state_unavailable'),
};

describe.each(Object.entries(recorders))('metrics contract: %s', (_name, create) => {
  it.each(Object.entries(told))('%s may be told any number of times', (_method, tell) => {
    const metrics = create();
    expect(() => {
      tell(metrics);
      tell(metrics);
    }).not.toThrow();
  });
});
