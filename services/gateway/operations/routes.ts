import { DescribedError } from '#src/protocol/native/parts.ts';
import { type DescribedRoute, openApiDocument } from '#src/protocol/native/openapi.ts';
import { describeHealth, probePatienceMs } from '#src/platform/state-health.ts';
import type { DataState } from '#src/protocol/node/parts.ts';
import type { EnvironmentsInForce } from '#src/ports/fleet/registry.ts';
import type { StateHealth } from '#src/ports/fleet/server.ts';
import type { Clock } from '#src/ports/clock.ts';
import type { App } from '../http/app.ts';
import type { HoldGate } from '../http/hold-gate.ts';
import { findMissing, type Need } from './readiness.ts';

export type Operations = {
  readonly gate: HoldGate;
  readonly clock: Clock;
  /** What this very process must have to serve; whatever it shares with others is only told. */
  readonly needs: readonly Need[];
  readonly fleetState: () => Promise<StateHealth>;
  readonly environments: () => EnvironmentsInForce;
  /** What this host cannot enforce, in sentences; null where the gateway cannot know. */
  readonly limitations: () => Promise<readonly string[] | null>;
  /** Data that environments' programs make on this machine; null where the gateway cannot know. */
  readonly data: () => Promise<readonly DataState[] | null>;
  readonly renderMetrics: () => Promise<string>;
  readonly routes: readonly DescribedRoute[];
};

const goes = {
  leaving: 'it is leaving: it still serves, but others are to be asked',
  closing: 'it is stopping: it takes nothing new and finishes what it holds',
} as const;

const notCounted = { config: { forOperators: true } };

/** For operators and probes; no key, nothing of any tenant. */
export function operationRoutes(app: App, operations: Operations): void {
  app.get('/healthz', notCounted, () => ({ status: 'ok' }));

  app.get('/readyz', notCounted, async (_request, reply) => {
    const { needs, clock, fleetState } = operations;
    const [found, limitations, data, state] = await Promise.all([
      findMissing(needs, probePatienceMs, clock),
      // Weak isolation is told, not a reason to refuse work; not knowing it is told as null.
      operations.limitations().catch(() => null),
      operations.data().catch(() => null),
      // Without Redis requests are held: a Service that were emptied for it would refuse them.
      describeHealth(fleetState, clock),
    ]);
    const missing = [...found];
    if (operations.gate.state !== 'open')
      missing.push({ name: 'gateway', reason: goes[operations.gate.state] });
    const status = missing.length === 0 ? 'ready' : 'not ready';
    return reply.code(missing.length === 0 ? 200 : 503).send({
      status,
      missing,
      limitations,
      data: data === null ? null : data.map(toldData),
      fleet_state: state,
      environments: operations.environments(),
    });
  });

  app.get('/metrics', notCounted, async (_request, reply) =>
    reply.type('text/plain; version=0.0.4').send(await operations.renderMetrics()),
  );

  app.get('/openapi.json', () => openApiDocument(operations.routes, '1', DescribedError));
}

/** Anybody may read this: what of it is an author's program says in full is in the log. */
const toldData = ({ digest, argv, state, seconds, bytes }: DataState) => ({
  command: argv.join(' ').slice(0, commandCharacters),
  digest,
  state,
  seconds,
  bytes,
});
const commandCharacters = 200;
