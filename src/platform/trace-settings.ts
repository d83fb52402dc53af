import type { ConfigReader } from './config.ts';

/** Where spans go, by the variables that OpenTelemetry has for it. */
export type TraceSettings = {
  /** Without `/v1/traces`. */
  readonly endpoint: string;
  /** Secrets among them. */
  readonly headers: Readonly<Record<string, string>>;
  /** The share of traces that is kept, from 0 to 1. */
  readonly ratio: number;
  /** What every span says of its process, beside what we say. */
  readonly resource: Readonly<Record<string, string>>;
};

/** One trace in ten: what it costs a gateway is lost in what a call costs. */
const defaultRatio = 0.1;

/** The same variables for every process that writes spans; null: it writes none. */
export function readTraceSettings(read: ConfigReader): TraceSettings | null {
  const endpoint = read.optional('OTEL_EXPORTER_OTLP_ENDPOINT');
  if (endpoint === null || read.flag('OTEL_SDK_DISABLED')) return null;
  if (!isHttp(endpoint)) {
    read.mistake(
      `OTEL_EXPORTER_OTLP_ENDPOINT is ${JSON.stringify(endpoint)}: where a collector takes OTLP over HTTP, http://host:4318`,
    );
  }
  const protocol = read.optional('OTEL_EXPORTER_OTLP_PROTOCOL') ?? 'http/json';
  if (!protocol.startsWith('http/')) {
    read.mistake(
      `OTEL_EXPORTER_OTLP_PROTOCOL is ${JSON.stringify(protocol)}: spans are sent as http/json, which collectors take on port 4318`,
    );
  }
  return {
    endpoint: endpoint.endsWith('/') ? endpoint.slice(0, -1) : endpoint,
    headers: pairs(read, 'OTEL_EXPORTER_OTLP_HEADERS'),
    ratio: ratio(read),
    resource: pairs(read, 'OTEL_RESOURCE_ATTRIBUTES'),
  };
}

function isHttp(text: string): boolean {
  return /^https?:\/\//.test(text) && URL.canParse(text);
}

function ratio(read: ConfigReader): number {
  const text = read.optional('OTEL_TRACES_SAMPLER_ARG') ?? String(defaultRatio);
  const value = /^[\d.]{1,20}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= 0 && value <= 1) return value;
  read.mistake(
    `OTEL_TRACES_SAMPLER_ARG is ${JSON.stringify(text)}, not a number from 0 to 1: the share of traces that is kept`,
  );
  return defaultRatio;
}

/** `name=value,name=value`, percent-encoded. Its values may be secrets, so that none of it is repeated. */
function pairs(read: ConfigReader, name: string): Readonly<Record<string, string>> {
  const text = read.optional(name);
  if (text === null) return {};
  const entries = text.split(',').map(pairOf);
  const good = entries.filter((entry) => entry !== null);
  if (good.length === entries.length) return Object.fromEntries(good);
  read.mistake(`${name} is not of the form name=value,name=value, with values percent-encoded`);
  return {};
}

/** What may stand in the name of a header. */
const namePattern = /^[\w!#$%&'*+.^`|~-]+$/;
const printable = /^[\x20-\x7e]*$/;

function pairOf(text: string): readonly [string, string] | null {
  const equals = text.indexOf('=');
  const name = text.slice(0, Math.max(0, equals)).trim();
  try {
    const value = decodeURIComponent(text.slice(equals + 1).trim());
    return namePattern.test(name) && printable.test(value) ? [name, value] : null;
  } catch {
    return null;
  }
}
