import { dataDigest } from '#src/model/ids.ts';
import { afterEach, describe, expect, it } from 'vitest';
import { failureCodes } from '#src/failure/codes.ts';
import type { StateHealth } from '#src/ports/fleet/server.ts';
import { type GatewayUnderTest, startGateway } from './gateway-under-test.ts';

let gateway: GatewayUnderTest | null = null;
afterEach(async () => {
  await gateway?.stop(1_000);
  gateway = null;
});

async function get(path: string): Promise<{ readonly status: number; readonly text: string }> {
  const answer = await fetch(`${gateway?.url ?? ''}${path}`);
  return { status: answer.status, text: await answer.text() };
}

/** What its program said is for the log: anybody may read this. */
const failedData = {
  digest: dataDigest('d1'),
  argv: ['node', 'make.mjs'],
  state: 'failed' as const,
  seconds: 2,
  bytes: 0,
  message: 'its last words: the password',
};

describe('the operators’ addresses', () => {
  it('need no key', async () => {
    gateway = await startGateway();
    for (const path of ['/healthz', '/readyz', '/metrics', '/openapi.json']) {
      expect((await get(path)).status).toBe(200);
    }
  });

  it('/readyz names what is missing, also what does not answer, and what the host cannot enforce', async () => {
    gateway = await startGateway({
      limitations: () => Promise.resolve(['no memory limit: no cgroup']),
      data: () => Promise.resolve([failedData]),
      needs: [
        { name: 'key', check: () => Promise.reject(new Error('no such file')) },
        { name: 'fleet', check: () => Promise.resolve(null) },
        { name: 'isolation', check: () => Promise.resolve('one user only') },
        { name: 'slow', check: () => new Promise(() => undefined) },
      ],
    });
    const { status, text } = await get('/readyz');
    expect(status).toBe(503);
    expect(JSON.parse(text)).toEqual({
      status: 'not ready',
      missing: [
        { name: 'key', reason: expect.stringContaining('no such file') },
        { name: 'isolation', reason: 'one user only' },
        { name: 'slow', reason: expect.stringContaining('no answer') },
      ],
      limitations: ['no memory limit: no cgroup'],
      data: [{ command: 'node make.mjs', digest: failedData.digest, state: 'failed', seconds: 2, bytes: 0 }],
      fleet_state: { state: 'up', reason: null, redis: null },
      environments: { digest: 'abc', from: 'own folder', trouble: null },
    });
  });

  it('/readyz is about the gateway itself: without Redis it holds requests, says so, and stays in its Service', async () => {
    const server = {
      version: '7.2.4',
      evictionPolicy: 'noeviction',
      memoryLimitBytes: 1024,
      appendOnly: true,
    };
    const health: StateHealth = { state: 'away', reason: 'connection refused', server };
    gateway = await startGateway({ fleetState: () => Promise.resolve(health) });
    const { status, text } = await get('/readyz');
    expect([status, JSON.parse(text)]).toMatchObject([
      200,
      {
        status: 'ready',
        missing: [],
        fleet_state: {
          state: 'away',
          reason: 'connection refused',
          redis: {
            version: '7.2.4',
            maxmemory_policy: 'noeviction',
            maxmemory_bytes: 1024,
            append_only: true,
          },
        },
      },
    ]);
  });

  it('/readyz answers a probe in time also while Redis answers nobody', async () => {
    gateway = await startGateway({ fleetState: () => new Promise(() => undefined) });
    const { status, text } = await get('/readyz');
    expect([status, JSON.parse(text)]).toMatchObject([200, { fleet_state: { state: 'away' } }]);
  });

  it('/metrics counts answers and failures, and tells the event loop’s lag', async () => {
    gateway = await startGateway();
    await get('/rft/nothing');
    const { text } = await get('/metrics');
    expect(text).toContain('corral_gateway_answers_total{face="rft",status="500"} 1');
    expect(text).toContain(
      'corral_gateway_failures_total{face="rft",blame="caller",code="invalid_request"} 1',
    );
    expect(text).toMatch(/corral_gateway_event_loop_lag_seconds\{quantile="0.99"\} [\d.e-]+\n/);
  });

  it('probes and scrapes are no answers', async () => {
    gateway = await startGateway();
    for (const path of ['/healthz', '/readyz', '/metrics']) await get(path);
    const { text } = await get('/metrics');
    expect(text).not.toMatch(/^corral_gateway_answers_total\{.*\} [1-9]/m);
    expect(text).not.toContain('corral_gateway_request_duration_seconds_count');
  });

  it('/metrics tells how long a route takes by its pattern, whatever stands in its place', async () => {
    gateway = await startGateway();
    for (const name of ['one', 'two', 'three%0afour']) await get(`/v1/environments/${name}/tools`);
    const { text } = await get('/metrics');
    const routes = text
      .split('\n')
      .filter((line) => line.startsWith('corral_gateway_request_duration_seconds_count'));
    const route = 'face="native",route="GET /v1/environments/:name/tools"';
    expect(routes).toEqual([`corral_gateway_request_duration_seconds_count{${route}} 3`]);
  });

  it('/openapi.json describes every route of the native face from its own schemas', async () => {
    gateway = await startGateway();
    const document = JSON.parse((await get('/openapi.json')).text) as Document;
    expect(
      Object.entries(document.paths)
        .filter(([path]) => path.startsWith('/v1/'))
        .map(([path, methods]) => [path, Object.keys(methods).sort()]),
    ).toEqual([
      ['/v1/rollouts', ['post']],
      ['/v1/rollouts/{id}', ['delete', 'get']],
      ['/v1/rollouts/{id}/verdict', ['get']],
      ['/v1/rollouts/{id}/heartbeat', ['post']],
      ['/v1/rollouts/{id}/finish', ['post']],
      ['/v1/rollouts/{id}/refuse', ['post']],
      ['/v1/rollouts/{id}/void', ['post']],
      ['/v1/rollouts/{id}/grade', ['post']],
      ['/v1/prewarm', ['post']],
      ['/v1/rollouts/{id}/calls', ['post']],
      ['/v1/rollouts/{id}/exec', ['post']],
      ['/v1/rollouts/{id}/calls/{call_id}', ['get']],
      ['/v1/rollouts/{id}/calls/{call_id}/cancel', ['post']],
      ['/v1/rollouts/{id}/terminals/{terminal}/follow', ['post']],
      ['/v1/rollouts/{id}/screen', ['get']],
      ['/v1/controls', ['post', 'put']],
      ['/v1/runs', ['get']],
      ['/v1/runs/{run}', ['delete', 'get']],
      ['/v1/runs/{run}/rollouts', ['get']],
      ['/v1/runs/{run}/heartbeat', ['post']],
      ['/v1/runs/{run}/void', ['post']],
      ['/v1/rollouts/{id}/events', ['get']],
      ['/v1/runs/{run}/events', ['get']],
      ['/v1/environments', ['get']],
      ['/v1/environments/{name}/tools', ['get']],
      ['/v1/key', ['get']],
      ['/v1/rollouts/{id}/files/{path}', ['get', 'put']],
      ['/v1/rollouts/{id}/archive', ['get', 'put']],
      ['/v1/rollouts/{id}/calls/{call_id}/stream', ['get']],
      ['/v1/rollouts/{id}/calls/{call_id}/stdin', ['post']],
      ['/v1/fleet', ['get']],
    ]);
    expect(document.components.schemas.Error).toMatchObject({
      properties: { error: { properties: { code: { type: 'string', 'x-extensible-enum': failureCodes } } } },
    });
    const call = document.paths['/v1/rollouts/{id}/calls']?.['post'];
    expect(call).toMatchObject({
      parameters: [
        { $ref: '#/components/parameters/Run' },
        { name: 'id', in: 'path', required: true },
        { name: 'attempt', in: 'query', required: false },
        { name: 'wait_s', in: 'query', required: false },
      ],
      requestBody: {
        content: { 'application/json': { schema: { $ref: '#/components/schemas/ToolCall' } } },
      },
      responses: { 200: {}, default: {} },
    });
  });
});

type Document = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly components: { readonly schemas: { readonly Error: unknown } };
};
