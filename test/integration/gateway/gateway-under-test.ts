import type { RunRoutesDeps } from '#services/gateway/native/run-routes.ts';
import type { Leaving } from '#services/gateway/http/leave.ts';
import { createGatewayServer, type GatewayParts, type GatewayServer } from '#services/gateway/server.ts';
import { createGatewayPrometheus } from '#src/adapters/prometheus/gateway-prometheus.ts';
import { createKey, type ApiKey, type Scope } from '#src/access/keys.ts';
import { productionTimings } from '#src/model/timings.ts';
import { tenantId, runId } from '#src/model/ids.ts';
import type { FleetEvent } from '#src/ports/event-log.ts';
import type { Log } from '#src/ports/log.ts';
import { systemClock } from '#src/platform/clock.ts';
import { systemRandom } from '#src/platform/random.ts';
import { createPeerTokens } from '#src/platform/tokens.ts';
import type { Clock } from '#src/ports/clock.ts';
import type { Named, NamedByTag } from '#src/ports/fleet/registry.ts';
import { RequestsInHand } from '#src/lifecycle/requests-in-hand.ts';
import { FakeGatewayCore } from '#test/fakes/gateway-core.ts';
import { FakeGatewayStore } from '#test/fakes/gateway-store.ts';

/** A real server on a free port of this machine, over a recording core. */
export type GatewayUnderTest = {
  readonly core: FakeGatewayCore;
  readonly events: readonly FleetEvent[];
  readonly gateways: FakeGatewayStore;
  readonly requests: RequestsInHand;
  readonly url: string;
  readonly port: number;
  readonly listenBeyond: GatewayServer['listenBeyond'];
  readonly stop: (graceMs: number, leaving?: Partial<Leaving>) => Promise<void>;
  /** Headers of a key with these scopes. */
  readonly headersOf: (...scopes: Scope[]) => Record<string, string>;
};

export const developmentKey = 'development-key-of-this-test';

const allScopes: readonly Scope[] = ['rft:tools', 'rft:grade', 'native', 'watch', 'truth', 'admin', 'fleet'];
const made = allScopes.map((scope) =>
  createKey(
    {
      id: scope.replace(':', '-'),
      tenant: tenantId('acme'),
      scopes: [scope],
      defaultRun: runId('nightly'),
      expiresAtMs: null,
    },
    systemRandom,
  ),
);
const homeless = createKey(
  { id: 'homeless', tenant: tenantId('acme'), scopes: ['admin'], defaultRun: null, expiresAtMs: null },
  systemRandom,
);

const ofAnother = createKey(
  {
    id: 'of-another-tenant',
    tenant: tenantId('zeta'),
    scopes: ['admin'],
    defaultRun: runId('nightly'),
    expiresAtMs: null,
  },
  systemRandom,
);

/** Those that it knows. */
export const keys: readonly ApiKey[] = [...made, homeless, ofAnother].map(({ key }) => key);
export const keyOfAnotherTenant = ofAnother.presented;
export const keyWithoutRun = homeless.presented;

const headersOf = (...scopes: Scope[]) => {
  const key = made.find(({ key: { scopes: has } }) => has.some((scope) => scopes.includes(scope)));
  return { authorization: `Bearer ${key?.presented ?? ''}`, 'content-type': 'application/json' };
};

export async function startGateway(
  changes: Partial<GatewayParts> = {},
  clock: Clock = systemClock,
  isDecided = true,
): Promise<GatewayUnderTest> {
  const core = new FakeGatewayCore();
  const events: FleetEvent[] = [];
  const gateways = new FakeGatewayStore();
  const requests = requestsOf(gateways);
  if (isDecided) requests.decided();
  const prometheus = createGatewayPrometheus({ version: '0', environments: () => [] });
  const server = createGatewayServer({
    core,
    runs: { ...emptyRuns, record: (event) => void events.push(event), clock: systemClock },
    fleet: { fleet: 'test', look: () => Promise.reject(new Error('no fleet is watched here')) },
    events: { tell: tellNothing, answerPeer: () => null },
    e2b: {
      aliases: rememberedAliases(),
      rows: { row: () => Promise.resolve(null) },
      requests,
      random: systemRandom,
      tokens: fleetTokens,
    },
    authentication: {
      keyRing: { keys: () => keys, refresh: () => Promise.resolve('unchanged') },
      developmentKey,
      clock,
      record: (event) => void events.push(event),
    },
    needs: [],
    fleetState: () => Promise.resolve({ state: 'up', reason: null, server: null }),
    environments: () => ({ digest: 'abc', from: 'own folder', trouble: null }),
    limitations: () => Promise.resolve([]),
    data: () => Promise.resolve([]),
    metrics: prometheus.metrics,
    renderMetrics: (gauges) =>
      prometheus.render({ ...gauges, keyRefusals: 0, keys: [] }, { waiting: 0, calls: 0, grades: 0 }),
    log: silentLog,
    timings: productionTimings,
    holdLimits: { requests: 100, bodyBytes: 100 * 1024 * 1024 },
    fileBytes: 4 * 1024 * 1024,
    ...changes,
  });
  const url = await server.listen('127.0.0.1', 0);
  const stop: GatewayUnderTest['stop'] = (graceMs, leaving = {}) =>
    server.stop({ drainDelayMs: 0, graceMs, hurry: new AbortController().signal, ...leaving });
  return {
    core,
    events,
    gateways,
    requests,
    url,
    port: Number(new URL(url).port),
    listenBeyond: (settings) => server.listenBeyond(settings),
    stop,
    headersOf,
  };
}

/** Signs passes as a gateway of one fleet does. */
export const fleetTokens = createPeerTokens({ current: 'the fleet key of this test', other: null });

function requestsOf(gateways: FakeGatewayStore): RequestsInHand {
  const deps = { gateways, gateway: 'this', clock: systemClock, random: systemRandom };
  return new RequestsInHand({ ...deps, onLost: () => Promise.resolve() });
}

function rememberedAliases(): GatewayParts['e2b']['aliases'] {
  const aliases = new Map<string, NamedByTag>();
  const named = (tenant: string, alias: string) =>
    aliases.get(`${tenant} ${alias}`) ?? new Map<string, Named>();
  return {
    name: (tenant, alias, tag, one) => {
      aliases.set(`${tenant} ${alias}`, new Map([...named(tenant, alias), [tag, one]]));
      return Promise.resolve(true);
    },
    named: (tenant, alias) => Promise.resolve(named(tenant, alias)),
  };
}

async function* tellNothing(): AsyncGenerator<never> {}

const silent = (): void => undefined;
const silentLog: Log = { debug: silent, info: silent, warn: silent, error: silent };

const emptyRuns: Omit<RunRoutesDeps, 'record' | 'clock'> = {
  random: systemRandom,
  reports: {
    cost: () => Promise.resolve([]),
    runs: () => Promise.resolve([]),
    run: () => Promise.resolve(null),
    groups: () => Promise.resolve([]),
    rollouts: () => Promise.resolve({ rollouts: [], cursor: null }),
  },
  lifecycle: {
    heartbeatRun: () => Promise.resolve(false),
    closeRun: () => Promise.resolve(0),
    void: () => Promise.resolve(null),
  },
};
