import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { spanAttributes, spanKinds, type SpanName } from '#src/ports/tracer.ts';
import { type FleetOfTest, startFleetOfTest } from '../support/fleet.ts';
import { type OtlpReceiver, type ReceivedSpan, startOtlpReceiver } from '../support/otlp-receiver.ts';
import { printTree } from '../support/span-tree.ts';

/** Nothing is ready before it is asked for, so that a first call waits for a launch. */
const coldEnvironment = `
name: shell
sandbox:
  image: host
  disk: 64Mi
  processes: 64
  prepare: [["sh", "-c", "true"]]
setup: [["sh", "-c", "true"]]
tools: { shell: { builtin: shell, timeout: 30s } }
grader: { kind: text, reference: item.answer }
pool: { min_ready: 0, max: 8 }
`;

const page = await readFile(join(import.meta.dirname, '../../docs/traces.md'), 'utf8');

/** A tree that the page shows, without what differs from run to run. */
function treeOnPage(what: string): string {
  const [, block = ''] = page.split(`<!-- ${what} -->\n\`\`\`\n`);
  const [tree = ''] = block.split('```');
  return tree.replaceAll(/ +[0-9.]+ ms.*$/gm, '');
}

let receiver: OtlpReceiver;
let corral: FleetOfTest;

beforeAll(async () => {
  receiver = await startOtlpReceiver();
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', receiver.endpoint);
  vi.stubEnv('OTEL_EXPORTER_OTLP_HEADERS', 'x-tenant=rl%20lab');
  vi.stubEnv('OTEL_TRACES_SAMPLER_ARG', '1');
  corral = await startFleetOfTest({ environments: { shell: coldEnvironment } });
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await corral.stop();
  await receiver[Symbol.asyncDispose]();
});

const rootOf =
  (rollout: string) =>
  ({ name, attributes }: ReceivedSpan) =>
    name === 'rollout' && attributes['corral.rollout'] === rollout;

/** All spans of a rollout's trace, once its verdict was told, and `last`, which may come after it. */
async function traceOf(rollout: string, last: SpanName = 'rollout'): Promise<readonly ReceivedSpan[]> {
  const inTrace = (spans: readonly ReceivedSpan[]) => {
    const root = spans.find(rootOf(rollout));
    return spans.filter(({ traceId }) => traceId === root?.traceId);
  };
  await receiver.until((spans) => named(inTrace(spans), last).length > 0);
  return inTrace(receiver.spans);
}

const named = (spans: readonly ReceivedSpan[], name: SpanName) => spans.filter((span) => span.name === name);

function one(spans: readonly ReceivedSpan[], name: SpanName): ReceivedSpan {
  const [found, ...more] = named(spans, name);
  if (found === undefined || more.length > 0) throw new Error(`${more.length + 1} spans are called ${name}`);
  return found;
}

/** A busy machine makes scripts slow, and that is told. */
const withoutSlowness = (spans: readonly ReceivedSpan[]) =>
  spans.filter(({ name }) => name !== 'fleet_state');

const grade = (trace: string) =>
  corral.rft.grade({ trace, item: { answer: '42' }, sample: { output_text: '42', output_tools: [] } });

describe('a rollout whose first call waits for a launch', () => {
  let spans: readonly ReceivedSpan[];
  beforeAll(async () => {
    const item = { answer: '42' };
    await corral.rft.call({ trace: 'trace_1', call: 'call_1', command: 'sleep 0.1; echo hi', item });
    await corral.rft.call({ trace: 'trace_1', call: 'call_2', command: 'echo hi', item });
    expect(await grade('trace_1')).toMatchObject({ status: 200, body: { score: 1 } });
    spans = await traceOf('trace_1', 'grade');
  });

  test('is one trace, in which every parent is there, as the page shows it', () => {
    const byId = new Map(spans.map((span) => [span.spanId, span]));
    expect(byId.size).toBe(spans.length);
    const roots = spans.filter(({ parentSpanId }) => parentSpanId === '');
    expect(roots.map(({ name }) => name)).toEqual(['rollout']);
    for (const span of spans) {
      if (span.parentSpanId === '') continue;
      const parent = byId.get(span.parentSpanId);
      expect(parent, `the parent of ${span.name}`).toBeDefined();
    }
    expect(printTree(withoutSlowness(spans), { times: false })).toBe(treeOnPage("a rollout's trace"));
  });

  test('shows where the first call’s seconds went: they are all in its parts', () => {
    const [first] = named(spans, 'tool_call');
    if (first === undefined) throw new Error('no call');
    const parts = spans.filter(({ parentSpanId }) => parentSpanId === first.spanId);
    const told = parts.reduce((sum, { startMs, endMs }) => sum + endMs - startMs, 0);
    const whole = first.endMs - first.startMs;
    expect(told / whole).toBeGreaterThan(0.8);
    const exchange = one(parts, 'exchange');
    const command = one(
      spans.filter(({ parentSpanId }) => parentSpanId === exchange.spanId),
      'command',
    );
    expect(command.endMs - command.startMs).toBeGreaterThan(100);
  });

  test('its wait is linked to the launch, whose trace is the controller’s and links back', async () => {
    const obtained = one(spans, 'obtain_sandbox');
    expect(obtained.attributes).toMatchObject({ 'corral.launch': 'cold', 'corral.ahead': 0 });
    const [link] = obtained.links;
    await receiver.until((all) => all.some(({ spanId }) => spanId === link?.spanId));
    const launched = receiver.spans.filter(({ traceId }) => traceId === link?.traceId);
    expect(printTree(launched, { times: false })).toBe(treeOnPage("a launch's trace"));
    const launch = one(launched, 'launch');
    expect(launch).toMatchObject({ spanId: link?.spanId, service: 'corral-controller', parentSpanId: '' });
    const root = one(spans, 'rollout');
    expect(launch.links).toContainEqual({ traceId: root.traceId, spanId: root.spanId });
  });

  test('says the verdict at its root, which begins no later than the first call’s claim', () => {
    const root = one(spans, 'rollout');
    expect(root.attributes).toMatchObject({
      'corral.verdict': 'scorable',
      'corral.environment': 'shell',
      'corral.run': 'development',
    });
    expect(root.attributes).not.toHaveProperty('corral.blame');
    expect(root.startMs).toBeLessThan(one(spans, 'obtain_sandbox').endMs);
  });

  test('the collector is given the headers that the operator set', () => {
    expect(receiver.headers()).toMatchObject({ 'x-tenant': 'rl lab' });
  });
});

test('a call that names a span of its trainer’s is a child of that, and linked to the rollout’s trace', async () => {
  const headers = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' };
  await corral.rft.call({ trace: 'trace_2', call: 'call_1', command: 'true' }, headers);
  await grade('trace_2');
  const root = one(await traceOf('trace_2'), 'rollout');
  const call = one(
    receiver.spans.filter(({ traceId }) => traceId === '0af7651916cd43dd8448eb211c80319c'),
    'tool_call',
  );
  expect(call.parentSpanId).toBe('b7ad6b7169203331');
  expect(call.links).toEqual([{ traceId: root.traceId, spanId: root.spanId }]);
});

test('a trainer that keeps nothing of its own trace gets no spans of its calls', async () => {
  const headers = { traceparent: '00-1af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00' };
  await corral.rft.call({ trace: 'trace_3', call: 'call_1', command: 'true' }, headers);
  await grade('trace_3');
  expect(named(await traceOf('trace_3'), 'tool_call')).toEqual([]);
  expect(receiver.spans.some(({ traceId }) => traceId.startsWith('1af7'))).toBe(false);
});

test('a traceparent that is none is as if it were not there', async () => {
  const headers = { traceparent: '00-XYZ-1-01' };
  const answer = await corral.rft.call({ trace: 'trace_4', call: 'call_1', command: 'true' }, headers);
  expect(answer.status).toBe(200);
  await grade('trace_4');
  expect(named(await traceOf('trace_4'), 'tool_call')).toHaveLength(1);
});

test('a call whose sandbox is lost says whose failure it is, and so does the rollout', async () => {
  await corral.rft.call({ trace: 'trace_5', call: 'call_1', command: 'true' });
  const lost = corral.rft.call({ trace: 'trace_5', call: 'call_2', command: 'sleep 20' });
  await corral.killSandboxOf('trace_5');
  expect(await lost).toMatchObject({ status: 503 });
  const spans = await traceOf('trace_5');
  const failed = { 'corral.code': 'sandbox_lost', 'corral.blame': 'infrastructure' };
  expect(one(spans, 'rollout')).toMatchObject({
    status: 2,
    attributes: { ...failed, 'corral.verdict': 'discard' },
  });
  expect(one(spans, 'lose')).toMatchObject({ status: 2, attributes: { 'corral.effect': 'tainted' } });
  await receiver.until((all) => named(all, 'tool_call').some(({ status }) => status === 2));
  const call = named(receiver.spans, 'tool_call').find(({ status }) => status === 2);
  expect(call?.attributes).toMatchObject({ ...failed, 'corral.call': 'call_2' });
});

test('what a model wrote and a sandbox said is in no span, whatever its rollout came to', async () => {
  const marker = 'MARKER';
  const command = `echo ${marker} | tee ${marker} >&2; exit 3`;
  await corral.native.open('trace_6');
  const body = (name: string, call: string) => ({ call_id: call, name, arguments: { command } });
  await corral.native.post('/v1/rollouts/trace_6/calls', body('shell', 'call_1'));
  const unknown = await corral.native.post('/v1/rollouts/trace_6/calls', body(marker, 'call_2'));
  expect(unknown).toMatchObject({ status: 200, body: { code: 'unknown_tool' } });
  const sleep = { call_id: 'call_3', name: 'shell', arguments: { command: 'sleep 9' }, timeout_s: 1 };
  await corral.native.post('/v1/rollouts/trace_6/calls', sleep);
  await corral.native.post('/v1/rollouts/trace_6/finish', {});
  const spans = await traceOf('trace_6');
  expect(named(spans, 'tool_call').map(({ attributes }) => attributes['corral.blame'] ?? null)).toEqual([
    null,
    'model',
    'model',
  ]);
  expect(one(spans, 'rollout').attributes).toMatchObject({ 'corral.closed_by': 'finished' });
  expect(JSON.stringify(receiver.spans)).not.toContain(marker);
});

test('every span has a name and attributes of ours, and those that failed a blame and a code', async () => {
  await receiver.until((spans) => spans.length > 20);
  for (const { name, attributes } of receiver.spans) {
    expect(Object.keys(spanKinds)).toContain(name);
    for (const key of Object.keys(attributes))
      expect(spanAttributes).toHaveProperty(key.replace('corral.', ''));
    expect(attributes['corral.code'] === undefined).toBe(attributes['corral.blame'] === undefined);
  }
});
