import { expect, test } from 'vitest';
import { Failure } from '#src/failure/failure.ts';
import { launchRoot, rolloutRoot } from '#src/tracing/names.ts';
import { sandboxId } from '#src/model/ids.ts';
import { fakeRollout } from '#test/fakes/rollout-record.ts';
import { createFakeTracer } from '#test/fakes/tracer.ts';
import { RequestSpans } from './request-spans.ts';

const rollout = fakeRollout({ state: 'claimed' });
const root = rolloutRoot(rollout.key);
const callers = { traceId: 'ab'.repeat(16), spanId: 'cd'.repeat(8), sampled: true };

function request(of?: typeof callers) {
  const tracer = createFakeTracer();
  const spans = new RequestSpans(tracer, 'tool_call', of, { 'corral.face': 'rft' });
  const toldOf = (name: string) => tracer.told.filter((span) => span.name === name);
  return { tracer, spans, toldOf };
}

test('it is a part of its rollout’s trace, from when it came', () => {
  const { tracer, spans, toldOf } = request();
  tracer.passMs(7);
  spans.of(rollout.key);
  spans.answered({ 'corral.outcome': 'completed' });
  expect(toldOf('tool_call')).toMatchObject([
    { parent: root.spanId, context: { traceId: root.traceId }, links: [], startMs: 1_000, endMs: 1_007 },
  ]);
});

test('it is a part of its caller’s trace where the caller named one, and linked to the rollout’s', () => {
  const { spans, toldOf } = request(callers);
  spans.of(rollout.key);
  spans.answered({});
  expect(toldOf('tool_call')).toMatchObject([
    { parent: callers.spanId, context: { traceId: callers.traceId }, links: [root] },
  ]);
});

test('what failed before its rollout was known is of nobody’s trace, and says why', () => {
  const { spans, toldOf } = request();
  spans.failed(new Failure('unknown_environment', 'no'));
  expect(toldOf('tool_call')).toMatchObject([
    { parent: null, attributes: { 'corral.code': 'unknown_environment', 'corral.blame': 'caller' } },
  ]);
});

test('fleet state that was slow before the rollout was known is a part of the request all the same', () => {
  const { tracer, spans, toldOf } = request();
  tracer.passMs(50);
  spans.tell({ name: 'fleet_state', startMs: 1_010, endMs: 1_050 });
  expect(tracer.told).toEqual([]);
  const own = spans.of(rollout.key);
  expect(own.context.traceId).toBe(root.traceId);
  expect(toldOf('fleet_state')).toMatchObject([{ parent: own.context.spanId, startMs: 1_010, endMs: 1_050 }]);
});

test('a wait in line begins with the claim and ends with the grant, linked to the launch', () => {
  const { tracer, spans, toldOf } = request();
  spans.planned(rollout.key);
  spans.stands({ kind: 'waiting', rollout, ahead: 3 }, 1_000);
  tracer.passMs(400);
  spans.stands({ kind: 'waiting', rollout, ahead: 1 }, 1_200);
  spans.stands({ kind: 'held', rollout }, 1_400);
  spans.stands({ kind: 'held', rollout }, 1_400);
  expect(toldOf('obtain_sandbox')).toMatchObject([
    {
      startMs: 1_000,
      endMs: 1_400,
      links: [launchRoot(sandboxId('sandbox-1'))],
      attributes: { 'corral.ahead': 3, 'corral.launch': 'warm', 'corral.sandbox': 'sandbox-1' },
    },
  ]);
});

test('a rollout that has its sandbox already obtains none', () => {
  const { spans, toldOf } = request();
  spans.planned(rollout.key);
  spans.stands({ kind: 'held', rollout: fakeRollout() }, 1_000);
  expect(toldOf('obtain_sandbox')).toEqual([]);
});

test('a wait in vain says by which code, and the request over which it went on does not', () => {
  const inVain = request();
  inVain.spans.planned(rollout.key);
  inVain.spans.stands({ kind: 'waiting', rollout, ahead: 0 }, 1_000);
  inVain.spans.failed(new Failure('capacity_timeout', 'no'));
  expect(inVain.toldOf('obtain_sandbox')[0]?.attributes).toMatchObject({
    'corral.code': 'capacity_timeout',
    'corral.blame': 'infrastructure',
  });
  const goesOn = request();
  goesOn.spans.planned(rollout.key);
  goesOn.spans.stands({ kind: 'waiting', rollout, ahead: 0 }, 1_000);
  goesOn.spans.failed(new Failure('still_running', 'later'));
  expect(goesOn.tracer.told.some(({ attributes }) => 'corral.code' in attributes)).toBe(false);
  expect(goesOn.toldOf('tool_call')[0]?.attributes['corral.outcome']).toBe('still_running');
});

test('a request that tries again for minutes tells its first parts only', () => {
  const { spans, toldOf } = request();
  spans.of(rollout.key);
  for (let tries = 0; tries < 500; tries += 1) spans.start('exchange').end();
  spans.answered({});
  expect(toldOf('exchange')).toHaveLength(64);
  expect(toldOf('tool_call')).toHaveLength(1);
});
