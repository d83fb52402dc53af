import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type RawAnswer, sendRaw } from '#test/support/raw-http.ts';
import { type GatewayUnderTest, startGateway } from './gateway-under-test.ts';

let gateway: GatewayUnderTest;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(async () => {
  await gateway.stop(1_000);
});
beforeEach(() => {
  gateway.core.calls.length = 0;
});

const toolBody = JSON.stringify({
  type: 'function_call',
  id: 'fc_1',
  call_id: 'call_1',
  name: 'shell',
  arguments: '{}',
  trace_id: 'trace_1',
});
const toolPath = '/rft/shell/tools/shell';

type Broken = {
  readonly method?: string;
  readonly path?: string;
  readonly version?: string;
  readonly headers?: readonly string[];
  readonly body?: string | Buffer;
  /** Sent instead of the true Content-Length. */
  readonly length?: string | null;
  readonly hostless?: true;
};

function send(
  broken: Broken,
  key = gateway.headersOf('rft:tools')['authorization'] ?? '',
): Promise<RawAnswer> {
  const body = broken.body ?? '';
  const length = broken.length === undefined ? String(Buffer.byteLength(body)) : broken.length;
  const head = [
    `${broken.method ?? 'POST'} ${broken.path ?? toolPath} ${broken.version ?? 'HTTP/1.1'}`,
    ...(broken.hostless ? [] : ['Host: gateway']),
    `Authorization: ${key}`,
    ...(length === null ? [] : [`Content-Length: ${length}`]),
    ...(broken.headers ?? ['Content-Type: application/json']),
  ];
  return sendRaw(gateway.port, [`${head.join('\r\n')}\r\n\r\n`, body]);
}

const json = 'Content-Type: application/json';
const without = (field: string) => JSON.stringify({ ...JSON.parse(toolBody), [field]: undefined });
const withField = (field: string, value: unknown) =>
  JSON.stringify({ ...JSON.parse(toolBody), [field]: value });

/** Everything under /rft that is no good request; `code` is what its answer must say. */
const walk: readonly (readonly [string, Broken, string])[] = [
  ['an unknown route', { path: '/rft/shell/nothing', body: toolBody }, 'invalid_request'],
  ['the bare face', { path: '/rft' }, 'invalid_request'],
  ['the bare face with a slash', { path: '/rft/' }, 'invalid_request'],
  ['a trailing slash', { path: `${toolPath}/`, body: toolBody }, 'invalid_request'],
  ['a doubled slash', { path: `/${toolPath}`, body: toolBody }, 'invalid_request'],
  ['capitals', { path: '/RFT/shell/grade', body: toolBody }, 'invalid_request'],
  ['an escaped slash', { path: '/rft%2Fshell/grade', body: toolBody }, 'invalid_request'],
  ['a full URL as target', { path: 'http://other/rft/x', body: toolBody }, 'invalid_request'],
  ['a query only', { path: '/rft?x=1' }, 'invalid_request'],
  ['bad percent-encoding', { path: '/rft/%zz/tools/shell', body: toolBody }, 'invalid_request'],
  ['a cut escape', { path: '/rft/shell/tools/%E0%A4', body: toolBody }, 'invalid_request'],
  ['an endless path element', { path: `/rft/${'e'.repeat(5000)}/grade`, body: toolBody }, 'invalid_request'],
  ['an environment without a name', { path: '/rft/@v1/tools/shell', body: toolBody }, 'invalid_request'],
  ['an environment with two versions', { path: '/rft/a@b@c/tools/shell', body: toolBody }, 'invalid_request'],
  ...['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'QUERY', 'PROPFIND', 'PURGE'].map(
    (method): readonly [string, Broken, string] => [`the method ${method}`, { method }, 'invalid_request'],
  ),
  ['a method with a body', { method: 'PUT', body: toolBody }, 'invalid_request'],
  ['an invented method', { method: 'BREW' }, 'invalid_request'],
  ['CONNECT', { method: 'CONNECT', path: 'rft:80' }, 'invalid_request'],
  ['no body', {}, 'invalid_request'],
  ['an empty JSON body', { body: '', headers: [json] }, 'invalid_request'],
  ['a body that is not JSON', { body: 'not json' }, 'invalid_request'],
  ['a JSON body that is no object', { body: '[1]' }, 'invalid_request'],
  ['a poisoned JSON body', { body: '{"__proto__":{"x":1}}' }, 'invalid_request'],
  ['bad UTF-8 in JSON', { body: Buffer.from([0x7b, 0xff, 0xfe]) }, 'invalid_request'],
  ['no media type', { body: toolBody, headers: [] }, 'invalid_request'],
  [
    'a form',
    { body: toolBody, headers: ['Content-Type: application/x-www-form-urlencoded'] },
    'invalid_request',
  ],
  ['a malformed media type', { body: toolBody, headers: ['Content-Type: ;;;'] }, 'invalid_request'],
  ['text that is JSON', { body: toolBody, headers: ['Content-Type: text/plain'] }, 'invalid_request'],
  ...['id', 'call_id', 'name', 'arguments', 'trace_id'].map((field): readonly [string, Broken, string] => [
    `no ${field}`,
    { body: without(field) },
    'invalid_request',
  ]),
  ['a trace_id that is no text', { body: withField('trace_id', 7) }, 'invalid_request'],
  ['an empty trace_id', { body: withField('trace_id', '') }, 'invalid_request'],
  ['a trace_id with spaces', { body: withField('trace_id', 'a b') }, 'invalid_request'],
  ['an endless call_id', { body: withField('call_id', 'c'.repeat(257)) }, 'invalid_request'],
  ['an item that is a list', { body: withField('item', [1]) }, 'invalid_request'],
  ['a run name with spaces', { body: toolBody, headers: [json, 'X-Corral-Run: a b'] }, 'invalid_request'],
  ['2 MB', { body: Buffer.alloc(2_000_000, 0x20) }, 'payload_too_large'],
  ['2 MB where nothing is', { path: '/rft/nothing', body: Buffer.alloc(2_000_000, 0x20) }, 'invalid_request'],
  [
    '2 MB in chunks',
    { length: null, headers: [json, 'Transfer-Encoding: chunked'], body: chunked(2_000_000) },
    'payload_too_large',
  ],
  [
    'an unknown transfer coding',
    { length: null, headers: [json, 'Transfer-Encoding: gzip'], body: toolBody },
    'invalid_request',
  ],
  ['a length that is no number', { length: 'many', body: toolBody }, 'invalid_request'],
  ['two lengths', { headers: [json, 'Content-Length: 3'], body: toolBody }, 'invalid_request'],
  ['a header without a colon', { headers: ['nonsense'], body: toolBody }, 'invalid_request'],
  ['a header with a zero byte', { headers: ['X-Bad: a\0b'], body: toolBody }, 'invalid_request'],
  ['20 KiB of headers', { headers: [`X-Long: ${'x'.repeat(20_000)}`], body: toolBody }, 'invalid_request'],
  ['3,000 headers', { headers: Array.from({ length: 3000 }, (_, n) => `X-${n}: ${n}`) }, 'invalid_request'],
  ['HTTP/3.0 on the request line', { version: 'HTTP/3.0', body: toolBody }, 'invalid_request'],
  ['no version at all', { version: '', body: toolBody }, 'invalid_request'],
];

function chunked(bytes: number): Buffer {
  const chunk = Buffer.alloc(bytes, 0x20);
  return Buffer.concat([Buffer.from(`${bytes.toString(16)}\r\n`), chunk, Buffer.from('\r\n0\r\n\r\n')]);
}

describe('a bad request under /rft', () => {
  it.each(walk)('%s: 5xx with its code, and the core is not asked', async (_name, broken, code) => {
    const answer = await send(broken);
    expect(answer.status).toBe(500);
    expect(JSON.parse(answer.body)).toMatchObject({ error: { code, blame: 'caller', admitted: 'no' } });
    expect(answer.body).not.toMatch(/"(output|score)":/);
    expect(gateway.core.calls).toEqual([]);
  });

  it('HEAD: 5xx', async () => {
    expect((await send({ method: 'HEAD' })).status).toBe(500);
  });

  it('a request that is no HTTP at all: 5xx', async () => {
    const answer = await sendRaw(gateway.port, ['hello there\r\n\r\n']);
    expect(answer.status).toBe(500);
  });

  it('a TLS greeting: 5xx', async () => {
    const answer = await sendRaw(gateway.port, [
      Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01]),
    ]);
    expect(answer.status).toBe(500);
  });

  it('a wrong key: 503 unauthorized before the body is read', async () => {
    const answer = await send({ body: 'not json' }, 'Bearer wrong');
    expect(answer.status).toBe(503);
    expect(JSON.parse(answer.body)).toMatchObject({ error: { code: 'unauthorized', blame: 'caller' } });
  });

  it('a wrong key with 2 MB: the answer arrives all the same', async () => {
    const answer = await send({ body: Buffer.alloc(2_000_000, 0x20) }, 'Bearer wrong');
    expect(answer.status).toBe(503);
  });
});

describe('an odd but good request under /rft', () => {
  const odd: readonly (readonly [string, Broken])[] = [
    ['no Host header', { hostless: true }],
    ['an expectation that nobody knows', { headers: [json, 'Expect: miracles'] }],
    ['Expect: 100-continue', { headers: [json, 'Expect: 100-continue'] }],
    ['an offer to upgrade', { headers: [json, 'Connection: Upgrade', 'Upgrade: h2c'] }],
    ['a media type with a charset', { headers: ['Content-Type: application/json; charset=utf-8'] }],
    ['an API version header', { headers: [json, 'Accept-Version: 9'] }],
    ['an Accept that we do not offer', { headers: [json, 'Accept: image/png'] }],
    ['an escaped environment name', { path: '/rft/%73hell/tools/shell' }],
    ['HTTP/1.0', { version: 'HTTP/1.0' }],
  ];

  it.each(odd)('%s: 200', async (_name, request) => {
    const answer = await send({ ...request, body: toolBody });
    expect(answer.status).toBe(200);
  });
});
