import { afterEach, beforeEach, expect, test } from 'vitest';
import { createKey } from '#src/access/keys.ts';
import { tenantId } from '#src/model/ids.ts';
import { systemClock } from '#src/platform/clock.ts';
import { systemRandom } from '#src/platform/random.ts';
import type { FleetEvent } from '#src/ports/event-log.ts';
import { type GatewayUnderTest, keys, startGateway } from './gateway-under-test.ts';

const expired = createKey(
  { id: 'old', tenant: tenantId('acme'), scopes: ['native'], defaultRun: null, expiresAtMs: 1 },
  systemRandom,
);

let gateway: GatewayUnderTest;
const events: FleetEvent[] = [];
beforeEach(async () => {
  events.length = 0;
  const record = (event: FleetEvent) => void events.push(event);
  gateway = await startGateway({
    authentication: {
      keyRing: { keys: () => [...keys, expired.key], refresh: () => Promise.resolve('unchanged') },
      developmentKey: null,
      clock: systemClock,
      record,
    },
  });
});
afterEach(() => gateway.stop(0));

const ask = async (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  (await fetch(`${gateway.url}${path}`, { method, headers })).status;

test.each([
  ['no key', {}, { reason: 'no_key', keyId: null }],
  ['a key of nobody', { 'x-api-key': 'corral_trainer_guess' }, { reason: 'unknown_key', keyId: null }],
  ['an old key', { 'x-api-key': expired.presented }, { reason: 'expired_key', keyId: 'old' }],
])(
  '%s: the refusal is told with the route, and with nothing that the caller wrote',
  async (_, headers, told) => {
    const hostile = '/v1/rollouts/%0a%7b%22kind%22%3a%22verdict%22%7d%1b';
    expect(await ask(`${hostile}?x=%1b[2J`, headers)).toBe(401);
    expect(events).toEqual([
      {
        kind: 'request_refused',
        atMs: expect.any(Number),
        ...told,
        scope: 'native or watch',
        face: 'native',
        method: 'GET',
        route: '/v1/rollouts/:id',
        from: '127.0.0.1',
      },
    ]);
  },
);

test('a key without the scope is named; one that may leaves no line', async () => {
  const grader = gateway.headersOf('rft:grade');
  expect(await ask('/v1/runs', { authorization: grader['authorization'] ?? '' })).toBe(401);
  expect(await ask('/v1/runs', { authorization: gateway.headersOf('native')['authorization'] ?? '' })).toBe(
    200,
  );
  expect(events).toMatchObject([
    {
      kind: 'request_refused',
      keyId: 'rft-grade',
      reason: 'no_scope',
      scope: 'native or watch',
      route: '/v1/runs',
    },
  ]);
});

test('whoever asks for the fleet’s own talk without being of it is told of, and gets nothing', async () => {
  expect(await ask('/fleet/events?tenant=acme', { authorization: 'Bearer guess' })).toBe(401);
  expect(events).toMatchObject([
    {
      kind: 'request_refused',
      keyId: null,
      reason: 'unknown_key',
      scope: 'fleet_key',
      route: '/fleet/events',
    },
  ]);
});

test('who closes a run is told', async () => {
  const { authorization = '' } = gateway.headersOf('native');
  expect(await ask('/v1/runs/nightly', { authorization }, 'DELETE')).toBe(200);
  expect(gateway.events).toEqual([
    {
      kind: 'run_closed',
      atMs: expect.any(Number),
      keyId: 'native',
      tenant: 'acme',
      run: 'nightly',
      left: 0,
    },
  ]);
});
