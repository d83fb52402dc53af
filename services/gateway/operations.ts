import { monitorEventLoopDelay } from 'node:perf_hooks';
import { describeHealth, probePatienceMs } from '#src/platform/state-health.ts';
import type { Clock } from '#src/ports/clock.ts';
import type { EnvironmentsInForce } from '#src/ports/fleet/registry.ts';
import type { StateHealth } from '#src/ports/fleet/server.ts';
import { Type } from 'typebox';
import { DescribedE2bError, DescribedError } from '#src/protocol/native/parts.ts';
import { buildDocument, type DescribedRoute } from '#src/protocol/openapi/document.ts';
import type { DataState } from '#src/protocol/node/parts.ts';
import type { App } from './http/app.ts';
import type { HoldGate } from './http/hold-gate.ts';

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

/** Of an answer that people and Prometheus read, and no client takes apart. */
const described = (operationId: string, summary: string, produces = 'application/json') => ({
  operationId,
  summary,
  produces,
  response: {
    200: Type.Unsafe<unknown>(produces === 'text/plain' ? { type: 'string' } : { type: 'object' }),
  },
});
const ready = described('getReadiness', 'What this gateway lacks to serve, and what its host cannot enforce');

/** For operators and probes; no key, nothing of any tenant. */
export function operationRoutes(app: App, operations: Operations): void {
  const failures = { usual: DescribedError, e2b: DescribedE2bError };
  let built: object | null = null;
  // The routes are all there once the first request comes, and stay as they are.
  const document = () => (built ??= buildDocument(operations.routes, '1', failures));
  const alive = described('getHealth', 'Whether the process answers');
  app.get('/healthz', { ...notCounted, schema: alive }, () => ({ status: 'ok' }));

  const readiness = { ...ready, response: { ...ready.response, 503: ready.response[200] } };
  app.get('/readyz', { ...notCounted, schema: readiness }, async (_request, reply) => {
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

  const metrics = described('getMetrics', 'Metrics, as Prometheus reads them', 'text/plain');
  app.get('/metrics', { ...notCounted, schema: metrics }, async (_request, reply) =>
    reply.type('text/plain; version=0.0.4').send(await operations.renderMetrics()),
  );

  const itself = described('getOpenApi', 'This document');
  app.get('/openapi.json', { schema: itself }, () => document());
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

/** Something that this gateway itself cannot work without. `check` rejects, or resolves to a sentence about what is missing. */
export type Need = { readonly name: string; readonly check: () => Promise<string | null> };

type Missing = { readonly name: string; readonly reason: string };

/** What is missing now; an answer that takes longer than `deadlineMs` counts as missing. */
async function findMissing(
  needs: readonly Need[],
  deadlineMs: number,
  clock: Clock,
): Promise<readonly Missing[]> {
  const found = await Promise.all(needs.map((need) => reasonOf(need, deadlineMs, clock)));
  return found.filter((missing) => missing !== null);
}

async function reasonOf(need: Need, deadlineMs: number, clock: Clock): Promise<Missing | null> {
  const answered = new AbortController();
  const late = clock.sleep(deadlineMs, answered.signal).then(() => `no answer in ${deadlineMs} ms`);
  const asked = need.check().catch((error: unknown) => String(error));
  const reason = await Promise.race([asked, late]);
  answered.abort();
  return reason === null ? null : { name: need.name, reason };
}

/**
 * How late this process' own event loop runs. A gateway that is late must be seen as late: its own delay is never a
 * sandbox's failure.
 */
export type LoopLag = {
  /** Over the time since the last reading; milliseconds. */
  read(): { readonly p50Ms: number; readonly p99Ms: number; readonly maxMs: number };
  stop(): void;
};

/**
 * Each look wakes the process, fifty in a second were a third of what an idle gateway costs. A lag that matters lasts, or
 * comes again, and meets one of ten.
 */
const resolutionMs = 100;
const nanosecondsPerMs = 1e6;

export function measureLoopLag(): LoopLag {
  const histogram = monitorEventLoopDelay({ resolution: resolutionMs });
  histogram.enable();
  // The histogram counts its own timer's interval as delay.
  const ms = (nanoseconds: number) => Math.max(0, nanoseconds / nanosecondsPerMs - resolutionMs);
  const read = () => {
    const empty = histogram.count === 0;
    const lag = {
      p50Ms: empty ? 0 : ms(histogram.percentile(50)),
      p99Ms: empty ? 0 : ms(histogram.percentile(99)),
      maxMs: empty ? 0 : ms(histogram.max),
    };
    histogram.reset();
    return lag;
  };
  return { read, stop: () => histogram.disable() };
}
