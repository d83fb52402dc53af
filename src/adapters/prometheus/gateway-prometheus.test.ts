import { expect, test } from 'vitest';
import { callId } from '#src/model/ids.ts';
import type { FleetEvent } from '#src/ports/event-log.ts';
import type { CallSummary } from '#src/ports/fleet/records.ts';
import { fakeOwner } from '#test/fakes/rollout-record.ts';
import { rolloutKey } from '#src/model/rollout.ts';
import { createGatewayPrometheus } from './gateway-prometheus.ts';

const own = { version: '1.2.3', environments: () => ['shell'] };
const idle = { waiting: 0, calls: 0, grades: 0 };
const gauges = {
  keyRefusals: 0,
  keys: [],
  heldRequestsLimit: 10,
  heldRequests: 3,
  heldBodyBytes: 4_096,
  loopLag: { p50Ms: 1, p99Ms: 20, maxMs: 500 },
};
const common = {
  atMs: 0,
  key: rolloutKey(fakeOwner()),
  keyId: 'trainer',
  environment: 'shell',
  version: 'v1',
  evidence: {},
};

const summary: CallSummary = {
  call: callId('secret-call-id'),
  tool: 'shell',
  state: 'settled',
  outcome: 'refused',
  code: 'bad_arguments',
  admitted: 'no',
  exitCode: null,
  startedAtMs: 0,
  durationMs: 0,
  waitedMs: 0,
  outputBytes: 0,
  sandbox: null,
};

const settled: FleetEvent = {
  ...common,
  kind: 'call_settled',
  summary,
  blame: 'model',
  epoch: null,
  lastCommand: '',
};

function verdict(kind: 'scorable' | 'discard'): Extract<FleetEvent, { kind: 'verdict' }> {
  return {
    ...common,
    kind: 'verdict',
    verdict: kind === 'scorable' ? { kind } : { kind, code: 'sandbox_lost', cause: 'evicted' },
    score: null,
    suspected: null,
  };
}

test('failures that nobody classified are there from the start, at 0', async () => {
  const text = await createGatewayPrometheus(own).render(gauges, idle);
  for (const face of ['rft', 'native']) {
    const labels = `face="${face}",blame="infrastructure",code="unclassified"`;
    expect(text).toContain(`corral_gateway_failures_total{${labels}} 0\n`);
  }
});

test('answers and failures are counted by face, and by whose they are', async () => {
  const { metrics, render } = createGatewayPrometheus(own);
  metrics.answered({ face: 'rft', status: 200, route: 'POST /rft/:environment/grade', tookMs: 40 });
  metrics.failed('native', 'unauthorized');
  const text = await render(gauges, idle);
  expect(text).toContain('corral_gateway_answers_total{face="rft",status="200"} 1\n');
  expect(text).toContain(
    'corral_gateway_failures_total{face="native",blame="caller",code="unauthorized"} 1\n',
  );
});

test('whoever is told to wait on has not failed, and is counted nowhere', async () => {
  const { metrics, render } = createGatewayPrometheus(own);
  metrics.failed('rft', 'still_running');
  const text = await render(gauges, idle);
  expect(text).not.toContain('still_running"');
  expect(text).not.toMatch(/corral_gateway_failures_total\{.*\} 1$/m);
});

test('how long an answer took is told by face and route', async () => {
  const { metrics, render } = createGatewayPrometheus(own);
  metrics.answered({ face: 'rft', status: 200, route: 'POST /rft/:environment/grade', tookMs: 400 });
  metrics.answered({ face: 'native', status: 404, route: null, tookMs: 1 });
  const text = await render(gauges, idle);
  const sum = 'corral_gateway_request_duration_seconds_sum';
  expect(text).toContain(`${sum}{face="rft",route="POST /rft/:environment/grade"} 0.4\n`);
  expect(text).toContain(`${sum}{face="native",route="none"} 0.001\n`);
});

test('what is told to the event log is counted by blame, code and environment, and by no id', async () => {
  const { told, render } = createGatewayPrometheus(own);
  for (const event of [settled, verdict('scorable'), verdict('discard')]) told(event);
  const text = await render(gauges, idle);
  const call = 'outcome="refused",blame="model",code="bad_arguments",environment="shell"';
  const lost =
    'verdict="discard",blame="infrastructure",code="sandbox_lost",suspected="none",environment="shell"';
  const good = 'verdict="scorable",blame="none",code="none",suspected="none",environment="shell"';
  expect(text).toContain(`corral_calls_settled_total{${call}} 1\n`);
  expect(text).toContain(`corral_verdicts_total{${lost}} 1\n`);
  expect(text).toContain(`corral_verdicts_total{${good}} 1\n`);
  expect(text).not.toMatch(/secret-call-id|rollout-1/);
});

test('discards that a command may have caused are counted apart, and the command is no label', async () => {
  const { told, render } = createGatewayPrometheus(own);
  told({ ...common, kind: 'lost_command', call: callId('call-1'), command: 'dd if=/dev/zero' });
  told({ ...verdict('discard'), suspected: 'command' });
  const text = await render(gauges, idle);
  expect(text).toMatch(/corral_verdicts_total\{[^}]*suspected="command",environment="shell"\} 1\n/);
  expect(text).not.toContain('dd if');
});

test('scores are summed by environment alone, and a voided one leaves the sum', async () => {
  const { told, render } = createGatewayPrometheus(own);
  for (const score of [1, 3, -2.5, 0, null]) told({ ...verdict('scorable'), score });
  for (const score of [3, -2.5, null])
    told({ ...common, kind: 'rollout_voided', reason: 'a broken item', score });
  const text = await render(gauges, idle);
  for (const line of [
    'corral_scores_total{environment="shell"} 4',
    'corral_scores_voided_total{environment="shell"} 2',
    // 1 + 3 + 0 - 2.5 and, taken back, - 3 + 2.5 are 1.
    'corral_score_points_total{sign="positive",environment="shell"} 6.5',
    'corral_score_points_total{sign="negative",environment="shell"} 5.5',
  ])
    expect(text).toContain(`${line}\n`);
});

test('what is in hand is told as it is at the moment of asking', async () => {
  const { render } = createGatewayPrometheus(own);
  await render(gauges, { ...idle, calls: 7 });
  const text = await render({ ...gauges, heldRequests: 1 }, { ...idle, calls: 2 });
  expect(text).toContain('corral_gateway_held_requests 1\n');
  expect(text).toContain('corral_gateway_under_way{kind="calls"} 2\n');
  expect(text).toContain('corral_gateway_event_loop_lag_seconds{quantile="0.99"} 0.02\n');
});

test('keys are told with their ends, those that end first; a key without an end is not', async () => {
  const { render } = createGatewayPrometheus(own);
  const many = Array.from({ length: 300 }, (_, index) => ({
    id: `key-${index}`,
    expiresAtMs: 1_000 * index,
  }));
  const text = await render({ ...gauges, keys: [{ id: 'endless', expiresAtMs: null }, ...many] }, idle);
  expect(text).toContain('corral_key_expiry_timestamp_seconds{key="key-199"} 199\n');
  expect(text).not.toMatch(/key="(key-200|endless)"/);
});

test('what the work takes is told by environment, in seconds', async () => {
  const { work, render } = createGatewayPrometheus(own);
  work.obtained('shell', 'cold', 4_000);
  work.callAnswered('shell', { waitedMs: 1_000, commandMs: 250, overheadMs: 5 });
  work.judged('grader_failed');
  work.replayed('rft');
  const text = await render(gauges, idle);
  expect(text).toContain('corral_obtain_seconds_sum{environment="shell",launch="cold"} 4\n');
  expect(text).toContain('corral_call_seconds_sum{environment="shell",part="overhead"} 0.005\n');
  expect(text).toContain('corral_judge_requests_total{code="grader_failed"} 1\n');
  expect(text).toContain('corral_replays_total{face="rft"} 1\n');
});

test('Redis is told as it is, and one that may forget rollouts is told as wrong', async () => {
  const { fleetState, render } = createGatewayPrometheus(own);
  const server = { version: '7.2', evictionPolicy: 'volatile-lru', memoryLimitBytes: 100, appendOnly: true };
  fleetState.seen({ health: { state: 'up', reason: null, server }, usedBytes: 40 });
  fleetState.script(3);
  const text = await render(gauges, idle);
  expect(text).toContain('corral_redis_policy_ok 0\n');
  expect(text).toContain('corral_redis_memory_bytes{kind="used"} 40\n');
  expect(text).toContain('corral_redis_command_seconds_bucket{le="0.005"} 1\n');
});
