import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';

/** A span as OTLP/JSON has it, with its attributes as plain values. */
export type ReceivedSpan = {
  readonly traceId: string;
  readonly spanId: string;
  /** Empty: it is a root. */
  readonly parentSpanId: string;
  readonly name: string;
  readonly kind: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  /** 2 is an error. */
  readonly status: number;
  readonly service: string;
};

export type OtlpReceiver = AsyncDisposable & {
  readonly endpoint: string;
  readonly spans: ReceivedSpan[];
  /** Requests that came, whatever became of them. */
  readonly requests: () => number;
  readonly headers: () => IncomingMessage['headers'];
  /** Resolves when spans came of which this says yes; rejects, and names what came, when they did not in time. */
  until(found: (spans: readonly ReceivedSpan[]) => boolean): Promise<void>;
};

type Value = {
  readonly stringValue?: string;
  readonly intValue?: number | string;
  readonly doubleValue?: number;
  readonly boolValue?: boolean;
};
type KeyValue = { readonly key: string; readonly value: Value };
type WireSpan = Omit<ReceivedSpan, 'attributes' | 'status' | 'links' | 'parentSpanId'> & {
  readonly parentSpanId?: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes?: readonly KeyValue[];
  readonly links?: ReceivedSpan['links'];
  readonly status?: { readonly code?: number };
};
type Body = {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly KeyValue[] };
    readonly scopeSpans: readonly { readonly spans: readonly WireSpan[] }[];
  }[];
};

/**
 * What a collector is to a process of ours. `answer` may hang or refuse instead of taking the spans; `host` is the address of
 * ours that the process reaches.
 */
export async function startOtlpReceiver(
  answer: (response: ServerResponse) => void = (response) => response.end('{}'),
  host = '127.0.0.1',
): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  let requests = 0;
  let headers: IncomingMessage['headers'] = {};
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    requests += 1;
    headers = request.headers;
    spans.push(...spansOf(JSON.parse(await text(request)) as Body));
    answer(response.setHeader('content-type', 'application/json'));
  };
  const server = createServer((request, response) => void take(request, response));
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://${host}:${port}`,
    spans,
    requests: () => requests,
    headers: () => headers,
    until: (found) => until(spans, found),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Processes send once a second. */
const longestMs = 20_000;

async function until(
  spans: readonly ReceivedSpan[],
  found: (spans: readonly ReceivedSpan[]) => boolean,
): Promise<void> {
  const untilMs = Date.now() + longestMs;
  while (!found(spans)) {
    if (Date.now() > untilMs) throw new Error(`only these came: ${spans.map(({ name }) => name).join(', ')}`);
    await sleep(50);
  }
}

function spansOf(body: Body): readonly ReceivedSpan[] {
  return body.resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const service = String(plain(resource.attributes)['service.name']);
    return scopeSpans.flatMap((scope) => scope.spans.map((span) => received(span, service)));
  });
}

function received(span: WireSpan, service: string): ReceivedSpan {
  const { traceId, spanId, parentSpanId = '', name, kind, attributes = [], links = [], status } = span;
  return {
    traceId,
    spanId,
    parentSpanId,
    name,
    kind,
    startMs: Number(span.startTimeUnixNano) / 1e6,
    endMs: Number(span.endTimeUnixNano) / 1e6,
    attributes: plain(attributes),
    links: links.map((link) => ({ traceId: link.traceId, spanId: link.spanId })),
    status: status?.code ?? 0,
    service,
  };
}

function plain(attributes: readonly KeyValue[]): ReceivedSpan['attributes'] {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, valueOf(value)]));
}

function valueOf({ stringValue, intValue, doubleValue, boolValue }: Value): string | number | boolean {
  return stringValue ?? boolValue ?? doubleValue ?? Number(intValue);
}
