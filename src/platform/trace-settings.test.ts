import { describe, expect, it } from 'vitest';
import { ConfigMistakes, readConfig, type Variables } from './config.ts';
import { readTraceSettings } from './trace-settings.ts';

const read = (variables: Variables) => readConfig(variables, readTraceSettings);
const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' };

function mistakesOf(variables: Variables): readonly string[] {
  try {
    read(variables);
  } catch (thrown) {
    if (thrown instanceof ConfigMistakes) return thrown.mistakes;
  }
  return [];
}

describe('where spans go', () => {
  it('is nowhere unless an endpoint is set, and then nothing else is looked at', () => {
    expect(read({ OTEL_TRACES_SAMPLER_ARG: 'often', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' })).toBeNull();
    expect(read({ ...endpoint, OTEL_SDK_DISABLED: 'true' })).toBeNull();
  });

  it('is the endpoint, with one trace in ten', () => {
    expect(read({ OTEL_EXPORTER_OTLP_ENDPOINT: 'https://otel.example.com/lab/' })).toEqual({
      endpoint: 'https://otel.example.com/lab',
      headers: {},
      ratio: 0.1,
      resource: {},
    });
  });

  it('takes headers, ratio and resource as OpenTelemetry has them', () => {
    const settings = read({
      ...endpoint,
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20a%3Db, x-scope=lab',
      OTEL_TRACES_SAMPLER_ARG: '1.0',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=production',
    });
    expect(settings).toMatchObject({
      headers: { authorization: 'Bearer a=b', 'x-scope': 'lab' },
      ratio: 1,
      resource: { 'deployment.environment.name': 'production' },
    });
  });

  it.each([
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317' }, 'OTEL_EXPORTER_OTLP_ENDPOINT is "collector:4317"'],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://' }, 'OTEL_EXPORTER_OTLP_ENDPOINT is "http://"'],
    [{ ...endpoint, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, 'http/json, which collectors take on port 4318'],
    [{ ...endpoint, OTEL_TRACES_SAMPLER_ARG: '10%' }, 'OTEL_TRACES_SAMPLER_ARG is "10%"'],
    [{ ...endpoint, OTEL_TRACES_SAMPLER_ARG: '1.5' }, 'not a number from 0 to 1'],
    [{ ...endpoint, OTEL_RESOURCE_ATTRIBUTES: 'production' }, 'OTEL_RESOURCE_ATTRIBUTES is not of the form'],
  ])('that cannot be is told: %o', (variables, told) => {
    expect(mistakesOf(variables)).toEqual([expect.stringContaining(told)]);
  });

  it.each(['Bearer topsecret', 'authorization=topsecret%', 'authorization=topsecret%0d%0ax-more: 1'])(
    'is told without a word of headers that cannot be: %s',
    (headers) => {
      const mistakes = mistakesOf({ ...endpoint, OTEL_EXPORTER_OTLP_HEADERS: headers });
      expect(mistakes).toEqual([expect.stringContaining('OTEL_EXPORTER_OTLP_HEADERS is not of the form')]);
      expect(String(mistakes)).not.toContain('topsecret');
    },
  );
});
