import { afterAll, describe, expect, it } from 'vitest';
import { openTracer } from '#src/adapters/opentelemetry/open-tracer.ts';
import { noTracer, type SpanContext, type Tracer } from '#src/ports/tracer.ts';
import { createFakeLog } from '../fakes/log.ts';
import { createFakeTracer } from '../fakes/tracer.ts';
import { startOtlpReceiver } from '../support/otlp-receiver.ts';

const receiver = await startOtlpReceiver();
const real = await openTracer(
  { endpoint: receiver.endpoint, headers: {}, ratio: 1, resource: {} },
  { service: 'contract', fleet: 'test' },
  createFakeLog(),
);
afterAll(async () => {
  await real.close();
  await receiver[Symbol.asyncDispose]();
});

const derived: SpanContext = { traceId: 'ab'.repeat(16), spanId: 'cd'.repeat(8) };

describe.each<readonly [string, Tracer]>([
  ['OpenTelemetry', real],
  ['the fake', createFakeTracer()],
])('a tracer that is on: %s', (_name, tracer) => {
  it('gives a part the trace of its parent, and an id of its own', () => {
    const part = tracer.start('plan', { parent: derived }).context;
    expect(part.traceId).toBe(derived.traceId);
    expect(part.spanId).toMatch(/^[0-9a-f]{16}$/);
    expect(part.spanId).not.toBe(derived.spanId);
  });

  it('gives a root the ids that were derived for it', () => {
    expect(tracer.start('rollout', { self: derived }).context).toMatchObject(derived);
  });

  it('gives every other root a trace of its own', () => {
    const [one, other] = [tracer.start('recover'), tracer.start('recover')];
    expect(one.context.spanId).not.toBe(other.context.spanId);
  });

  it('says of a part whether it is kept, as its parent was', () => {
    expect(tracer.start('plan', { parent: { ...derived, sampled: true } }).context.sampled).toBe(true);
  });

  it('has a clock that does not go back', () => {
    const before = tracer.nowMs();
    expect(tracer.nowMs()).toBeGreaterThanOrEqual(before);
  });
});

describe.each<readonly [string, Tracer]>([
  ['OpenTelemetry', real],
  ['the fake', createFakeTracer()],
  ['none', noTracer],
])('any tracer: %s', (_name, tracer) => {
  it('never throws, whatever is said of a span, and when', () => {
    const span = tracer.start('tool_call', { startMs: 0, links: [derived] });
    const say = () => {
      span.set({ 'corral.call': '\u{1b}[31m'.repeat(1_000), 'corral.ahead': Number.NaN });
      span.link(derived);
      span.fail('unclassified', 'infrastructure');
      span.broke('not_sent');
      span.end(-1);
    };
    expect(say).not.toThrow();
    expect(say).not.toThrow();
  });
});
