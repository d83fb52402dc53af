import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { FakeGatewayCore } from '#test/fakes/gateway-core.ts';
import { type GatewayUnderTest, startGateway } from './gateway-under-test.ts';

let started: GatewayUnderTest[] = [];
afterEach(async () => {
  await Promise.all(started.map((gateway) => gateway.stop(1_000)));
  started = [];
});

async function start(requests: number, bodyBytes = 1_000_000): Promise<GatewayUnderTest> {
  const gateway = await startGateway({ holdLimits: { requests, bodyBytes } });
  started.push(gateway);
  return gateway;
}

/** Makes the core hold every call until the returned function is called. */
function holdCalls(core: FakeGatewayCore): () => void {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  core.gate = promise;
  return () => resolve(undefined);
}

function toolCall(gateway: GatewayUnderTest, call: string, padding = 0): Promise<Response> {
  return fetch(`${gateway.url}/rft/shell/tools/shell`, {
    method: 'POST',
    headers: gateway.headersOf('rft:tools'),
    body: bodyOf(call, padding),
  });
}

function exec(gateway: GatewayUnderTest, call: string): Promise<Response> {
  return fetch(`${gateway.url}/v1/rollouts/trace_1/exec`, {
    method: 'POST',
    headers: gateway.headersOf('native'),
    body: JSON.stringify({ call_id: call, argv: ['true'] }),
  });
}

const bodyOf = (call: string, padding = 0) =>
  JSON.stringify({
    id: 'fc',
    call_id: call,
    name: 'shell',
    arguments: '{}',
    item: { padding: 'x'.repeat(padding) },
    trace_id: 'trace_1',
  });

/** A call that is held until it is let go. In an object: a promise that is returned would be waited for. */
async function holdOne(gateway: GatewayUnderTest) {
  const letGo = holdCalls(gateway.core);
  const held = toolCall(gateway, 'c1');
  await asked(gateway.core, 1);
  return { held, letGo };
}

async function asked(core: FakeGatewayCore, count: number): Promise<void> {
  await expect.poll(() => core.calls.length).toBe(count);
}

/** It leaves before it closes, if only for a moment where it waits for nobody. */
async function closes(gateway: GatewayUnderTest): Promise<void> {
  const readiness = async () => (await fetch(`${gateway.url}/readyz`)).text();
  await expect.poll(readiness).toContain('it is stopping');
}

const codeOf = async (answer: Response): Promise<unknown> => ((await answer.json()) as Failed).error?.code;
type Failed = { readonly error?: { readonly code: string } };

describe('a gateway at its bound', () => {
  it('of requests: the next one is told gateway_overloaded, and later ones pass', async () => {
    const gateway = await start(2);
    const letGo = holdCalls(gateway.core);
    const held = [toolCall(gateway, 'c1'), toolCall(gateway, 'c2')];
    await asked(gateway.core, 2);
    const refused = await toolCall(gateway, 'c3');
    expect(refused.status).toBe(503);
    expect(refused.headers.get('retry-after')).not.toBeNull();
    expect(await codeOf(refused)).toBe('gateway_overloaded');
    letGo();
    expect((await Promise.all(held)).map(({ status }) => status)).toEqual([200, 200]);
    expect((await toolCall(gateway, 'c4')).status).toBe(200);
  });

  it('of body bytes: the next one is told gateway_overloaded, and later ones pass', async () => {
    const gateway = await start(100, 500_000);
    const letGo = holdCalls(gateway.core);
    const held = toolCall(gateway, 'c1', 300_000);
    await asked(gateway.core, 1);
    expect(await codeOf(await toolCall(gateway, 'c2', 300_000))).toBe('gateway_overloaded');
    letGo();
    expect((await held).status).toBe(200);
    expect((await toolCall(gateway, 'c3', 300_000)).status).toBe(200);
  });

  it('gives back the places of refused requests', async () => {
    const gateway = await start(1);
    for (let n = 0; n < 20; n += 1) {
      const bad = await fetch(`${gateway.url}/rft/shell/tools/shell`, { method: 'POST', body: 'not json' });
      expect(await codeOf(bad)).toBe('unauthorized');
      const worse = await fetch(`${gateway.url}/v1/rollouts`, {
        method: 'POST',
        headers: gateway.headersOf('native'),
        body: 'not json',
      });
      expect(await codeOf(worse)).toBe('invalid_request');
    }
    expect((await toolCall(gateway, 'c1')).status).toBe(200);
  });
});

describe('a client that goes away', () => {
  it('does not stop its call, and its place is given back when the call is answered', async () => {
    const gateway = await start(1);
    const letGo = holdCalls(gateway.core);
    const request = httpRequest(`${gateway.url}/rft/shell/tools/shell`, {
      method: 'POST',
      headers: gateway.headersOf('rft:tools'),
    });
    const hungUp = once(request, 'error');
    request.end(bodyOf('c1'));
    await asked(gateway.core, 1);
    request.destroy();
    await hungUp;
    expect(await codeOf(await toolCall(gateway, 'c2'))).toBe('gateway_overloaded');
    letGo();
    await expect.poll(async () => (await toolCall(gateway, 'c3')).status).toBe(200);
  });

  it('in the middle of its body leaves nothing held, and the core is not asked', async () => {
    const gateway = await start(1);
    const request = httpRequest(`${gateway.url}/rft/shell/tools/shell`, {
      method: 'POST',
      headers: { ...gateway.headersOf('rft:tools'), 'content-length': 500 },
    });
    request.on('error', () => undefined);
    request.write('{"half":');
    await expect.poll(async () => (await toolCall(gateway, 'c1')).status).toBe(503);
    request.destroy();
    await expect.poll(async () => (await toolCall(gateway, 'c2')).status).toBe(200);
    expect(gateway.core.calls.length).toBe(1);
  });
});

describe('a gateway that stops', () => {
  it('fails readiness, refuses what is new, and finishes what it holds', async () => {
    const gateway = await start(10);
    const { held, letGo } = await holdOne(gateway);
    const stopped = gateway.stop(10_000);
    started = [];
    expect((await fetch(`${gateway.url}/readyz`)).status).toBe(503);
    await closes(gateway);
    const refused = await toolCall(gateway, 'c2');
    expect([refused.status, await codeOf(refused)]).toEqual([503, 'shutting_down']);
    letGo();
    const answer = await held;
    expect(answer.status).toBe(200);
    expect(answer.headers.get('connection')).toBe('close');
    await stopped;
    await expect(fetch(`${gateway.url}/healthz`)).rejects.toThrow();
  });

  it('tells what is not done when its grace is over, on both faces, that it may have run and is to be sent again', async () => {
    const gateway = await start(10);
    const letGo = holdCalls(gateway.core);
    const held = [toolCall(gateway, 'c1'), exec(gateway, 'c2')];
    await asked(gateway.core, 2);
    await gateway.stop(1);
    started = [];
    letGo();
    for (const answer of await Promise.all(held)) {
      expect(answer.status).toBe(503);
      expect(answer.headers.get('retry-after')).not.toBeNull();
      const told = { code: 'shutting_down', admitted: 'unknown', retryable: true, tainted: false };
      expect(await answer.json()).toMatchObject({ error: told });
    }
  });

  it('that is hurried cuts off at once, also while it is still leaving', async () => {
    const gateway = await start(10);
    holdCalls(gateway.core);
    const held = toolCall(gateway, 'c1');
    await asked(gateway.core, 1);
    const hurry = new AbortController();
    const stopped = gateway.stop(60_000, { drainDelayMs: 60_000, hurry: hurry.signal });
    started = [];
    hurry.abort();
    expect(await codeOf(await held)).toBe('shutting_down');
    await stopped;
  });

  it('waits for nobody who has connected and asked for nothing', async () => {
    const gateway = await start(10);
    const silent = connect(gateway.port, '127.0.0.1');
    await once(silent, 'connect');
    const closed = once(silent, 'close');
    await gateway.stop(60_000);
    started = [];
    await closed;
  });

  it('reads the whole of what it refuses first: its client sees the refusal, and no reset', async () => {
    const gateway = await start(10);
    const { held, letGo } = await holdOne(gateway);
    const stopped = gateway.stop(10_000);
    started = [];
    await closes(gateway);
    const text = bodyOf('c2', 1_000_000);
    const head = `POST /rft/shell/tools/shell HTTP/1.1\r\nhost: x\r\ncontent-length: ${text.length}\r\n\r\n`;
    const socket = connect(gateway.port, '127.0.0.1');
    let seen = '';
    socket.on('data', (chunk) => (seen += chunk.toString()));
    socket.write(head + text.slice(0, 10));
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(seen).toBe('');
    socket.write(text.slice(10));
    await once(socket, 'close');
    expect(seen).toContain('503 Service Unavailable');
    expect(seen).toContain('shutting_down');
    letGo();
    await held;
    await stopped;
  });
});

describe('a gateway that leaves', () => {
  it('serves as ever, is not ready, says so, and ends every connection with its answer', async () => {
    const gateway = await start(10);
    const hurry = new AbortController();
    const stopped = gateway.stop(10_000, { drainDelayMs: 60_000, hurry: hurry.signal });
    started = [];
    const ready = await fetch(`${gateway.url}/readyz`);
    expect([ready.status, ready.headers.get('connection')]).toEqual([503, 'close']);
    expect(await ready.text()).toContain('leaving');
    expect((await fetch(`${gateway.url}/healthz`)).status).toBe(200);
    const answer = await toolCall(gateway, 'c1');
    expect([answer.status, answer.headers.get('connection')]).toEqual([200, 'close']);
    hurry.abort();
    await stopped;
  });

  it('ends a connection that was idle all the time, before its next request would be refused; a held one goes on', async () => {
    const gateway = await start(10);
    const { held, letGo } = await holdOne(gateway);
    const idle = connect(gateway.port, '127.0.0.1');
    const ended = once(idle, 'close');
    idle.write('GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n');
    await once(idle, 'data');
    const stopped = gateway.stop(60_000, { drainDelayMs: 100 });
    started = [];
    await ended;
    letGo();
    expect((await held).status).toBe(200);
    await stopped;
  });
});
