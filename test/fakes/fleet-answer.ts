import type { FleetAnswer } from '#src/protocol/native/fleet.ts';

type Waiting = FleetAnswer['waiting']['runs'][number];

/** What a gateway tells of a fleet in which nothing happens. */
export function fakeFleetAnswer(changes: Partial<FleetAnswer> = {}): FleetAnswer {
  return {
    fleet: 'lab',
    age_ms: 200,
    next_in_ms: 800,
    sees: 'all tenants',
    rollouts: { open: 0, calls_running: 0 },
    waiting: { rollouts: 0, oldest_ms: null, runs: [], others: { runs: 0, waiting: 0 }, runs_left_out: 0 },
    sandboxes: { all: 0, starting: 0, starting_at_most: null, leaving: 0 },
    templates: [],
    templates_left_out: 0,
    launches: [],
    verdicts: { of_ms: 300_000, scorable: 0, discarded: 0, blame: {}, codes: {} },
    processes: [],
    redis: {
      version: '7.2.4',
      maxmemory_policy: 'noeviction',
      append_only: true,
      used_bytes: 12_100_000,
      limit_bytes: 512_000_000,
      reading_ms: 0.82,
    },
    ...changes,
  };
}

export const fakeShownLaunch = (
  changes: Partial<FleetAnswer['launches'][number]> = {},
): FleetAnswer['launches'][number] => ({
  sandbox: 'sf7ad-1',
  environment: 'shell',
  reason: 'waiting',
  run: 'acme/grpo-17',
  state: 'running',
  ago_ms: 2_000,
  took_ms: null,
  rollout: null,
  failure: null,
  ...changes,
});

export const fakeWaitingRun = (changes: Partial<Waiting> = {}): Waiting => ({
  tenant: 'acme',
  run: 'grpo-17',
  environment: 'shell',
  template: 'feaa7ad650ba0000',
  waiting: 83,
  place: 1,
  oldest_ms: 36_400,
  oldest_rollout: 'trace_1_4_1',
  ...changes,
});

export const fakePool = (
  changes: Partial<FleetAnswer['templates'][number]> = {},
): FleetAnswer['templates'][number] => ({
  template: 'feaa7ad650ba0000',
  environment: 'shell',
  ready: 0,
  starting: 4,
  held: 17,
  waiting: 119,
  announced: 0,
  breaker: 'closed',
  last_failure: null,
  ...changes,
});

export const fakeProcess = (
  changes: Partial<FleetAnswer['processes'][number]> = {},
): FleetAnswer['processes'][number] => ({
  kind: 'gateway',
  state: 'serving',
  host: 'lab-gateway-0',
  pid: 1,
  version: '0.1.0',
  age_ms: 106_000,
  heard_ms: 900,
  in_hand: { requests: 591, in_line: 119, calls: 35, grades: 0 },
  at_most: { requests: 4_000 },
  ...changes,
});
