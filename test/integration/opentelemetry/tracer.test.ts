import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { openTracer } from '#src/adapters/opentelemetry/open-tracer.ts';
import { isKept } from '#src/adapters/opentelemetry/tracer.ts';
import { rolloutRoot } from '#src/tracing/names.ts';
import type { RolloutKey } from '#src/model/rollout.ts';
import { createFakeLog } from '#test/fakes/log.ts';
import { startOtlpReceiver } from '#test/support/otlp-receiver.ts';

const root = join(import.meta.dirname, '../../..');
const traceOf = (number: number) => rolloutRoot(`lab/run/rollout-${number}/1/policy` as RolloutKey);

async function tracerTo(endpoint: string, ratio = 1) {
  const log = createFakeLog();
  const settings = { endpoint, headers: {}, ratio, resource: {} };
  return { log, tracer: await openTracer(settings, { service: 'test', fleet: 'test' }, log) };
}

test('spans come with their times, kinds, parents, links, status and whose they are', async () => {
  await using receiver = await startOtlpReceiver();
  const { tracer } = await tracerTo(receiver.endpoint);
  const [parent, other] = [traceOf(1), traceOf(2)];
  const span = tracer.start('exchange', {
    parent,
    links: [other],
    // Long before this process began.
    startMs: 1_700_000_000_000.25,
    attributes: { 'corral.call': 'call_1', 'corral.ahead': 3 },
  });
  span.fail('sandbox_lost', 'infrastructure');
  span.end(1_700_000_000_001.5);
  await tracer.close();
  expect(receiver.spans).toEqual([
    {
      traceId: parent.traceId,
      spanId: span.context.spanId,
      parentSpanId: parent.spanId,
      name: 'exchange',
      kind: 3,
      startMs: 1_700_000_000_000.25,
      endMs: 1_700_000_000_001.5,
      attributes: {
        'corral.call': 'call_1',
        'corral.ahead': 3,
        'corral.code': 'sandbox_lost',
        'corral.blame': 'infrastructure',
      },
      links: [{ traceId: other.traceId, spanId: other.spanId }],
      status: 2,
      service: 'test',
    },
  ]);
});

test('a value is cut, and a span has no more attributes than there is room for', async () => {
  await using receiver = await startOtlpReceiver();
  const { tracer } = await tracerTo(receiver.endpoint);
  const many = Object.fromEntries(
    Array.from({ length: 100 }, (_, index) => [`corral.a${index}`, 'x'.repeat(9_999)]),
  );
  tracer.start('plan', { attributes: many }).end();
  await tracer.close();
  const values = Object.values(receiver.spans[0]?.attributes ?? {});
  expect(values).toHaveLength(24);
  expect(new Set(values.map((value) => String(value).length))).toEqual(new Set([256]));
});

test('at a ratio every process keeps the same traces, whole, and that share of them', async () => {
  await using receiver = await startOtlpReceiver();
  const both = await Promise.all([tracerTo(receiver.endpoint, 0.25), tracerTo(receiver.endpoint, 0.25)]);
  for (let number = 0; number < 400; number += 1) {
    const parent = traceOf(number);
    for (const { tracer } of both) tracer.start('plan', { parent }).end();
  }
  await Promise.all(both.map(({ tracer }) => tracer.close()));
  const spansOf = new Map<string, number>();
  for (const { traceId } of receiver.spans) spansOf.set(traceId, (spansOf.get(traceId) ?? 0) + 1);
  expect(new Set(spansOf.values())).toEqual(new Set([2]));
  expect(spansOf.size).toBeGreaterThan(60);
  expect(spansOf.size).toBeLessThan(140);
});

test('a ratio of 0 keeps none, 1 keeps all', () => {
  for (const traceId of ['0'.repeat(32), 'f'.repeat(32)]) {
    expect([isKept(traceId, 0), isKept(traceId, 1)]).toEqual([false, true]);
  }
});

test('a collector that hangs costs the spans that find no room, which are told, and ending takes two seconds', async () => {
  await using receiver = await startOtlpReceiver(() => undefined);
  const { tracer, log } = await tracerTo(receiver.endpoint);
  const spans = 20_000;
  for (let made = 0; made < spans; made += 1) tracer.start('plan', { parent: traceOf(made % 9) }).end();
  const startMs = performance.now();
  await tracer.close();
  expect(performance.now() - startMs).toBeLessThan(3_000);
  expect(receiver.spans.length).toBeLessThanOrEqual(4_096);
  expect(log.lines).toEqual([
    {
      level: 'warn',
      message: 'spans were dropped; calls are not affected',
      fields: { spans, reason: expect.any(String) },
    },
  ]);
});

test.each([
  ['refuses connections', null],
  ['answers 400', 400],
  ['answers 503', 503],
])('a collector that %s costs its spans and nothing else', async (_what, status) => {
  await using receiver = await startOtlpReceiver((response) => {
    response.statusCode = status ?? 200;
    response.end('no');
  });
  if (status === null) await receiver[Symbol.asyncDispose]();
  const { tracer, log } = await tracerTo(receiver.endpoint);
  expect(() => tracer.start('plan').end()).not.toThrow();
  await tracer.close();
  expect(log.lines).toMatchObject([{ level: 'warn', fields: { spans: 1 } }]);
});

/** Says which modules of the library are resolved while both services are loaded and a tracer is opened. */
const program = (endpoint: string | null) => `
import { registerHooks } from 'node:module';
const seen = new Set();
registerHooks({
  resolve(specifier, context, next) {
    // prom-client brings the types of it, which do nothing by themselves.
    if (/^@opentelemetry.(?!api$)/.test(specifier)) seen.add(specifier);
    return next(specifier, context);
  },
});
await import('./services/gateway/wiring.ts');
await import('./services/controller/wiring.ts');
const { openTracer } = await import('./src/adapters/opentelemetry/open-tracer.ts');
const settings = ${JSON.stringify(endpoint === null ? null : { endpoint, headers: {}, ratio: 1, resource: {} })};
const tracer = await openTracer(settings, { service: 'x', fleet: 'x' }, { warn() {} });
tracer.start('plan').end();
console.log(seen.size);
process.exit(0);
`;

test.each([
  ['is not loaded where no endpoint is set', null, '0'],
  ['is loaded where one is', 'http://127.0.0.1:1', expect.not.stringMatching(/^0$/)],
])('the library %s', async (_what, endpoint, loaded) => {
  const run = promisify(execFile);
  const args = ['--input-type=module', '--eval', program(endpoint)];
  const { stdout } = await run(process.execPath, args, { cwd: root });
  expect(stdout.trim()).toEqual(loaded);
});
