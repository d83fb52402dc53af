import type { Attributes, Span, SpanContext, SpanName, SpanStart, Tracer } from '#src/ports/tracer.ts';

/** A span that was ended, as it was told. */
export type ToldSpan = {
  readonly name: SpanName;
  readonly context: SpanContext;
  readonly parent: string | null;
  readonly links: readonly SpanContext[];
  readonly attributes: Attributes;
  readonly startMs: number;
  readonly endMs: number;
};

export type FakeTracer = Tracer & {
  readonly told: ToldSpan[];
  /** The clock of its spans. */
  passMs(durationMs: number): void;
};

/** Keeps every span that ended. */
export function createFakeTracer(): FakeTracer {
  const told: ToldSpan[] = [];
  let now = 1_000;
  let made = 0;
  const start = (name: SpanName, { parent, self, ...given }: SpanStart = {}): Span => {
    made += 1;
    const own = made.toString(16).padStart(16, '0');
    const context = { traceId: 'f'.repeat(32), spanId: own, sampled: true, ...parent, ...self };
    const span = { name, context: parent === undefined ? context : { ...context, spanId: own } };
    const links = [...(given.links ?? [])];
    let attributes: Attributes = given.attributes ?? {};
    const { startMs = now } = given;
    return {
      context: span.context,
      set: (more) => void (attributes = { ...attributes, ...more }),
      link: (to) => void links.push(to),
      fail: (code, blame) =>
        void (attributes = { ...attributes, 'corral.code': code, 'corral.blame': blame }),
      broke: (how) => void (attributes = { ...attributes, 'corral.trouble': how }),
      end: (endMs = now) =>
        void told.push({ ...span, parent: parent?.spanId ?? null, links, attributes, startMs, endMs }),
    };
  };
  return {
    told,
    on: true,
    nowMs: () => now,
    start,
    close: () => Promise.resolve(),
    passMs: (durationMs) => void (now += durationMs),
  };
}
