import type { Instruments } from './instruments.ts';

export type ApiCall = {
  readonly verb: string;
  readonly resource: string;
  /** A status, or a word for an ending without one. */
  readonly code: number | string;
  readonly durationMs: number;
};

/** Seconds. An idle API server answers in some milliseconds; whoever waits longer than ten seconds has given up. */
const apiBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

/** Counts a call of the engine's API as it ended. */
export function apiMetrics({ counter, histogram }: Instruments): (call: ApiCall) => void {
  const labels = ['verb', 'resource', 'code'] as const;
  const calls = counter(
    'corral_kubernetes_calls_total',
    'Calls of the Kubernetes API by verb and code',
    labels,
  );
  const duration = histogram(
    'corral_kubernetes_call_duration_seconds',
    'Until the answer of the Kubernetes API, watches left out',
    ['verb', 'resource'],
    apiBuckets,
  );
  return ({ verb, resource, code, durationMs }) => {
    calls.inc({ verb, resource, code: String(code) });
    if (verb !== 'watch') duration.observe({ verb, resource }, durationMs / 1000);
  };
}
