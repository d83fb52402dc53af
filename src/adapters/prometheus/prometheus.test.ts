import { expect, test } from 'vitest';
import { environmentName, templateDigest } from '#src/model/ids.ts';
import type { FleetPool } from '#src/ports/metrics.ts';
import { createPrometheus } from './prometheus.ts';

const own = { version: '1.2.3', environments: () => ['shell'] };

const counts = (digest: string, ready: number): FleetPool => ({
  environments: [environmentName('shell')],
  minReady: 1,
  max: 20,
  template: templateDigest(digest),
  ready,
  launching: 0,
  held: 0,
  oldestWaitMs: 0,
  announced: 0,
  waiting: 0,
  breaker: 'open',
  lastFailure: null,
});

test('launches are counted by type and result, their durations in seconds', async () => {
  const { metrics, render } = createPrometheus(own);
  metrics.launchEnded({ type: 'cold', result: 'ready' }, 300);
  metrics.launchEnded({ type: 'failed', result: 'start_timeout' }, 60_000);
  const text = await render();
  expect(text).toContain('corral_launches_total{type="cold",result="ready"} 1');
  expect(text).toContain('corral_launches_total{type="failed",result="start_timeout"} 1');
  expect(text).toContain('corral_launch_duration_seconds_sum{type="cold"} 0.3');
});

test('a template that is no longer counted leaves the gauges', async () => {
  const { metrics, render } = createPrometheus(own);
  metrics.poolCounted([counts('old', 3)]);
  metrics.poolCounted([counts('new', 5)]);
  const text = await render();
  expect(text).toContain('corral_fleet_pool{template="new",state="ready"} 5');
  expect(text).toContain('corral_fleet_breaker_open{template="new"} 1');
  expect(text).not.toContain('template="old"');
});

test('ends are counted by what ended and why', async () => {
  const { metrics, render } = createPrometheus(own);
  metrics.sandboxLost('evicted', 'tainted');
  metrics.rolloutsExpired(4);
  metrics.garbageFound('unbound');
  metrics.loopFailed('drain', 'state_unavailable');
  const text = await render();
  expect(text).toContain('corral_sandboxes_lost_total{cause="evicted",effect="tainted"} 1');
  expect(text).toContain('corral_rollouts_expired_total 4');
  expect(text).toContain('corral_garbage_total{reason="unbound"} 1');
  expect(text).toContain('corral_loop_failures_total{loop="drain"} 1');
});

const counted = (blame: string, code: string, count: number) =>
  `corral_controller_failures_total{blame="${blame}",code="${code}"} ${count}\n`;

test('failures are counted by blame and code, and an unclassified one is counted from the start', async () => {
  const { metrics, render } = createPrometheus(own);
  expect(await render()).toContain(counted('infrastructure', 'unclassified', 0));
  metrics.launchEnded({ type: 'failed', result: 'unclassified' }, 100);
  metrics.loopFailed('drain', 'unclassified');
  metrics.loopFailed('drain', 'state_unavailable');
  const text = await render();
  expect(text).toContain(counted('infrastructure', 'unclassified', 2));
  expect(text).toContain(counted('infrastructure', 'state_unavailable', 1));
});

test('calls of the Kubernetes API are counted by verb and code, and a watch has no duration', async () => {
  const { apiCall, render } = createPrometheus(own);
  apiCall({ verb: 'create', resource: 'pods', code: 201, durationMs: 20 });
  apiCall({ verb: 'watch', resource: 'pods', code: 'broken', durationMs: 60_000 });
  const text = await render();
  expect(text).toContain('corral_kubernetes_calls_total{verb="create",resource="pods",code="201"} 1\n');
  expect(text).toContain('corral_kubernetes_calls_total{verb="watch",resource="pods",code="broken"} 1\n');
  expect(text).toContain('corral_kubernetes_call_duration_seconds_count{verb="create",resource="pods"} 1\n');
  expect(text).not.toContain('corral_kubernetes_call_duration_seconds_count{verb="watch"');
});

test('a pool is told with its bounds, its line and the environments that it is of', async () => {
  const { metrics, launchQueue, render } = createPrometheus(own);
  metrics.poolCounted([{ ...counts('abcdef0123456789', 3), oldestWaitMs: 4_500 }]);
  metrics.startsCounted(2, 8);
  launchQueue({ wait: 1, active: 2, delayed: 0, prioritized: 0, failed: 0, completed: 5 });
  const text = await render();
  const template = 'template="abcdef012345"';
  expect(text).toContain(`corral_fleet_pool_limit{${template},kind="max"} 20\n`);
  expect(text).toContain(`corral_fleet_line_oldest_seconds{${template}} 4.5\n`);
  expect(text).toContain(`corral_fleet_template_info{${template},environment="shell"} 1\n`);
  expect(text).toContain('corral_fleet_start_budget{kind="limit"} 8\n');
  expect(text).toContain('corral_fleet_launch_queue{state="active"} 2\n');
});

test('a launch queue of which nobody knows leaves the page', async () => {
  const { launchQueue, render } = createPrometheus(own);
  launchQueue({ wait: 1, active: 2, delayed: 0, prioritized: 0, failed: 0, completed: 5 });
  launchQueue(null);
  expect(await render()).not.toContain('corral_fleet_launch_queue{');
});
