import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import {
  BatchSpanProcessor,
  type ReadableSpan,
  type SpanExporter,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace';
import type { Log } from '#src/ports/log.ts';
import type { TracerOptions } from './options.ts';

/** Spans that wait for the collector, those on their way included: some 2 KB each, so 8 MB at most. */
const mostWaiting = 4_096;
/** A batch is written as JSON at once, some 10 µs a span: no longer than any other work here holds the process up. */
const batchSpans = 256;
const batchEveryMs = 1_000;
/** For the collector's answer, a second try included. It takes no time of a call's, only room here. */
const exportTimeoutMs = 5_000;
const tellDropsEveryMs = 60_000;
/** A process that stops has other things to do than to wait for a collector. */
const closeWithinMs = 2_000;

/**
 * Sends spans in batches and never waits for them. A collector that is slow, full or away costs the spans that find no room,
 * which are counted and told once a minute.
 */
export function boundedExport({ endpoint, headers }: TracerOptions, log: Log) {
  const drops = new Drops(log);
  let waiting = 0;
  const otlp = new OTLPTraceExporter({
    url: `${endpoint}/v1/traces`,
    headers: { ...headers },
    timeoutMillis: exportTimeoutMs,
    concurrencyLimit: 1 + mostWaiting / batchSpans,
  });
  const exporter: SpanExporter = {
    export: (spans, done) =>
      otlp.export(spans, (result) => {
        waiting -= spans.length;
        if (result.code !== ExportResultCode.SUCCESS) drops.add(spans.length, reasonOf(result));
        done(result);
      }),
    shutdown: () => otlp.shutdown(),
  };
  const batches = new BatchSpanProcessor({
    exporter,
    maxQueueSize: mostWaiting,
    maxExportBatchSize: batchSpans,
    scheduledDelayMillis: batchEveryMs,
    exportTimeoutMillis: 2 * exportTimeoutMs,
  });
  const processor: SpanProcessor = {
    onStart: () => undefined,
    onEnd: (span: ReadableSpan) => {
      if (waiting >= mostWaiting) return drops.add(1, 'the collector takes too long');
      waiting += 1;
      batches.onEnd(span);
    },
    forceFlush: () => batches.forceFlush(),
    shutdown: () => batches.shutdown(),
  };
  const close = async (): Promise<void> => {
    await within(closeWithinMs, batches.shutdown());
    if (waiting > 0) drops.add(waiting, 'the process ended before the collector took them');
    drops.end();
  };
  return { processor, close };
}

/** The collector's words are not ours: no more of them than a line of the log has room for. */
function reasonOf({ error }: ExportResult): string {
  return (error?.message ?? 'the collector did not take them').slice(0, 200);
}

class Drops {
  readonly #log: Log;
  #count = 0;
  #reason = '';
  #timer: NodeJS.Timeout | undefined;

  constructor(log: Log) {
    this.#log = log;
  }

  /** The first of a minute starts its time. */
  add(count: number, reason: string): void {
    this.#count += count;
    this.#reason = reason;
    this.#timer ??= setTimeout(() => this.#tell(), tellDropsEveryMs).unref();
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#tell();
  }

  #tell(): void {
    this.#timer = undefined;
    if (this.#count === 0) return;
    this.#log.warn('spans were dropped; calls are not affected', {
      spans: this.#count,
      reason: this.#reason,
    });
    this.#count = 0;
  }
}

async function within(mostMs: number, work: Promise<unknown>): Promise<void> {
  const ended = new AbortController();
  const late = new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, mostMs);
    ended.signal.addEventListener('abort', () => clearTimeout(timer));
  });
  await Promise.race([work.catch(() => undefined), late]);
  ended.abort();
}
