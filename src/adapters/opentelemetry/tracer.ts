import { randomFillSync } from 'node:crypto';
import {
  type HrTime,
  type Link,
  ROOT_CONTEXT,
  type Span as OtelSpan,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Tracer as OtelTracer,
} from '@opentelemetry/api';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { SamplingDecision, TracerProvider } from '@opentelemetry/sdk-trace';
import type { Log } from '#src/ports/log.ts';
import {
  type Attributes,
  type Span,
  type SpanContext,
  spanKinds,
  type SpanName,
  type SpanStart,
  type Tracer,
} from '#src/ports/tracer.ts';
import { boundedExport } from './bounded-export.ts';
import type { TracedProcess, TracerOptions } from './options.ts';

/**
 * The longest value is an id of a caller's, which has 256 characters. More attributes than ours, or links than the swaps of
 * one request make, there are none.
 */
const spanLimits = {
  attributeValueLengthLimit: 256,
  attributeCountLimit: 24,
  linkCountLimit: 8,
  eventCountLimit: 8,
};

const kinds = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  consumer: SpanKind.CONSUMER,
  internal: SpanKind.INTERNAL,
} as const;

/** Spans through OpenTelemetry's SDK. What is not sampled never reaches it. */
export function createTracer(options: TracerOptions, process: TracedProcess, log: Log): Tracer {
  const exporting = boundedExport(options, log);
  const ids = new DecidedIds();
  const provider = new TracerProvider({
    spanLimits,
    idGenerator: ids,
    sampler: alreadyDecided,
    resource: resourceFromAttributes({
      'service.name': process.service,
      'corral.fleet': process.fleet,
      ...options.resource,
    }),
    spanProcessors: [exporting.processor],
  });
  const otel = provider.getTracer('corral');
  const nowMs = createSpanClock();
  const keeps = (context: SpanContext) => context.sampled ?? isKept(context.traceId, options.ratio);

  const start = (name: SpanName, given: SpanStart = {}): Span => {
    const { parent, self } = given;
    const traceId = parent?.traceId ?? self?.traceId ?? newId(16);
    const sampled = keeps(parent ?? { traceId, spanId: '' });
    // It is passed on as it came: what a process of ours or sandboxd hears of it is that nobody keeps it.
    if (!sampled) return unkept({ traceId, spanId: parent?.spanId ?? self?.spanId ?? newId(8), sampled });
    const context = { traceId, spanId: self?.spanId ?? newId(8), sampled };
    ids.next = context;
    return recording(startSpan(otel, name, given, keeps, nowMs), context, nowMs, given.attributes);
  };
  return { on: true, nowMs, start, close: () => exporting.close() };
}

/** The last 52 bits of a trace's id are random, or of a hash: the same traces are kept by every process with this ratio. */
export function isKept(traceId: string, ratio: number): boolean {
  return Number.parseInt(traceId.slice(-13), 16) < ratio * 2 ** 52;
}

/** Random bytes in advance: to ask for eight of them costs as much as for a few thousand. */
const pool = Buffer.alloc(4_096);
let used = pool.length;

function newId(bytes: number): string {
  if (used + bytes > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += bytes;
  return pool.toString('hex', used - bytes, used);
}

/** The SDK asks for the ids of each span; ours are known before it begins. */
class DecidedIds {
  next: SpanContext = { traceId: '', spanId: '' };
  generateTraceId = (): string => this.next.traceId;
  generateSpanId = (): string => this.next.spanId;
}

const alreadyDecided = {
  shouldSample: () => ({ decision: SamplingDecision.RECORD_AND_SAMPLED }),
  toString: () => 'decided before',
};

function startSpan(
  otel: OtelTracer,
  name: SpanName,
  { parent, links = [], startMs }: SpanStart,
  keeps: (context: SpanContext) => boolean,
  nowMs: () => number,
): OtelSpan {
  const linked = links.map((context): Link => ({ context: contextOf(context, keeps(context)) }));
  const options = {
    kind: kinds[spanKinds[name]],
    links: linked,
    startTime: hrTime(startMs ?? nowMs()),
  };
  const around =
    parent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, contextOf(parent, true));
  return otel.startSpan(name, options, around);
}

function contextOf({ traceId, spanId }: SpanContext, sampled: boolean) {
  return { traceId, spanId, traceFlags: sampled ? TraceFlags.SAMPLED : TraceFlags.NONE, isRemote: true };
}

/** The SDK copies attributes each time that it is given some, which is most of what a span costs: it gets them at the end. */
function recording(otel: OtelSpan, context: SpanContext, nowMs: () => number, given: Attributes = {}): Span {
  const attributes: Record<string, string | number | boolean> = { ...given };
  return {
    context,
    set: (more) => void Object.assign(attributes, more),
    link: (to) => void otel.addLink({ context: contextOf(to, to.sampled ?? true) }),
    fail: (code, blame) => {
      Object.assign(attributes, { 'corral.code': code, 'corral.blame': blame });
      // The model's own failure is an answer, and no error of anything that is traced.
      if (blame !== 'model') otel.setStatus({ code: SpanStatusCode.ERROR, message: code });
    },
    broke: (how) => {
      attributes['corral.trouble'] = how;
      otel.setStatus({ code: SpanStatusCode.ERROR, message: how });
    },
    end: (atMs) => {
      otel.setAttributes(attributes);
      otel.end(hrTime(atMs ?? nowMs()));
    },
  };
}

const nothing = () => undefined;

const unkept = (context: SpanContext): Span => ({
  context,
  set: nothing,
  link: nothing,
  fail: nothing,
  broke: nothing,
  end: nothing,
});

/** The one form that the SDK takes as it stands: a number may be a time of the process' own clock to it, a Date has no part of a millisecond. */
function hrTime(ms: number): HrTime {
  const seconds = Math.trunc(ms / 1_000);
  return [seconds, Math.round((ms - seconds * 1_000) * 1e6)];
}

/** How far the clock of a process may be from the machine's: less than any span that is worth a look. */
const mostApartMs = 5;

/**
 * The wall clock, with microseconds: spans of one process are in order to less than a millisecond, and those of several
 * are as near as their machines' clocks. It follows a clock that is set, and forgets what it has drifted by.
 */
export function createSpanClock(wallMs = Date.now, monotonicMs = () => performance.now()): () => number {
  let anchorMs = wallMs() - monotonicMs();
  return () => {
    const [wall, now] = [wallMs(), anchorMs + monotonicMs()];
    if (Math.abs(now - wall) <= mostApartMs) return now;
    anchorMs = wall - monotonicMs();
    return wall;
  };
}
