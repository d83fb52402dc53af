import type { Instruments } from './instruments.ts';

export type ApiCall = {
  readonly verb: string;
  readonly resource: string;
  /** A status, or a word for an ending without one. */
  readonly code: number | string;
  readonly durationMs: number;
};

/** Counts a call of the engine's API as it ended. */
export function apiMetrics({ count, observe }: Instruments): (call: ApiCall) => void {
  return ({ verb, resource, code, durationMs }) => {
    count('corral_kubernetes_calls_total', { verb, resource, code: String(code) });
    if (verb !== 'watch') observe('corral_kubernetes_call_duration_seconds', { verb, resource }, durationMs);
  };
}
