import type { FailureCode } from '../../../src/failure/codes.ts';
import type { Face } from '../../../src/model/face.ts';
import type { HoldGate } from '../http/hold-gate.ts';
import type { LoopLag } from './loop-lag.ts';

/** What the gateway counts of its own doors, as Prometheus text. Labels have few values: never an id. */
export class DoorCounts {
  readonly #answers = new Map<string, number>();
  readonly #failures = new Map<string, number>();

  answered(face: Face, status: number): void {
    raise(this.#answers, `face="${face}",status="${status}"`);
  }

  failed(face: Face, code: FailureCode): void {
    raise(this.#failures, `face="${face}",code="${code}"`);
  }

  render(gate: HoldGate, lag: LoopLag): string {
    const { p50Ms, p99Ms, maxMs } = lag.read();
    return [
      ...family('corral_gateway_answers_total', 'counter', 'Answers by face and status.', this.#answers),
      ...family('corral_gateway_failures_total', 'counter', 'Failures by face and code.', this.#failures),
      ...gauge('corral_gateway_held_requests', 'Requests in hand.', gate.requests),
      ...gauge('corral_gateway_held_body_bytes', 'Bytes of their bodies.', gate.bodyBytes),
      ...family(
        'corral_gateway_event_loop_lag_seconds',
        'gauge',
        'Lateness of the event loop since the last scrape.',
        new Map([
          ['quantile="0.5"', p50Ms / 1000],
          ['quantile="0.99"', p99Ms / 1000],
          ['quantile="1"', maxMs / 1000],
        ]),
      ),
      '',
    ].join('\n');
  }
}

function raise(counts: Map<string, number>, labels: string): void {
  counts.set(labels, (counts.get(labels) ?? 0) + 1);
}

function family(name: string, type: string, help: string, values: ReadonlyMap<string, number>): string[] {
  const lines = [...values].map(([labels, value]) => `${name}{${labels}} ${value}`);
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines];
}

function gauge(name: string, help: string, value: number): string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} gauge`, `${name} ${value}`];
}
