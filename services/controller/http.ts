import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { once } from 'node:events';
import { createServer } from '#src/platform/node-http.ts';
import { describeHealth } from '#src/platform/state-health.ts';
import type { Clock } from '#src/ports/clock.ts';
import type { EnvironmentsInForce } from '#src/ports/fleet/registry.ts';
import { fleetEventsPath } from '#src/protocol/fleet/events.ts';
import type { StateHealth } from '#src/ports/fleet/server.ts';

export type OperationsOptions = {
  readonly listen: { readonly host: string; readonly port: number };
  /** What is missing before this controller can work, in words; empty: ready. */
  readonly missing: () => readonly string[];
  readonly fleetState: () => Promise<StateHealth>;
  readonly environments: () => EnvironmentsInForce;
  readonly clock: Clock;
  /** What this controller logged, for another process of the fleet; null: it is none. */
  readonly answerPeer: (target: string, authorization: string | undefined) => AsyncGenerator<string> | null;
  readonly metrics: { readonly render: () => Promise<string>; readonly contentType: string };
};

export type OperationsServer = { readonly port: number; close(): Promise<void> };

type Reply = { readonly status: number; readonly type: string; readonly body: string };

/**
 * Serves what operators ask: /healthz (the process turns), /readyz (it can work, or what is missing), /metrics; and what gateways
 * ask: what it logged.
 */
export async function serveOperations(options: OperationsOptions): Promise<OperationsServer> {
  const server = createServer((request, response) => {
    if (request.method === 'GET' && isForPeers(request.url)) return sendEvents(options, request, response);
    void reply(options, request.method ?? '', request.url ?? '').then(({ status, type, body }) => {
      response.writeHead(status, { 'content-type': type }).end(body);
    });
  });
  server.listen(options.listen.port, options.listen.host);
  await once(server, 'listening');
  return { port: portOf(server), close: () => close(server) };
}

const isForPeers = (url = ''): boolean => url.split('?', 1)[0] === fleetEventsPath;

function sendEvents({ answerPeer }: OperationsOptions, request: IncomingMessage, response: ServerResponse) {
  const lines = answerPeer(request.url ?? '', request.headers.authorization);
  if (lines === null) return void response.writeHead(401).end();
  response.writeHead(200, { 'content-type': 'application/x-ndjson' });
  // Whoever goes away ends the search; there is nobody to tell of it.
  pipeline(Readable.from(lines, { objectMode: false }), response).catch(() => undefined);
}

async function reply(options: OperationsOptions, method: string, url: string): Promise<Reply> {
  const { missing, metrics, fleetState, clock } = options;
  if (method !== 'GET') return json(405, { error: 'only GET is served here' });
  switch (url) {
    case '/healthz':
      return json(200, { status: 'alive' });
    case '/readyz': {
      const waitsFor = missing();
      const ready = waitsFor.length === 0;
      const state = await describeHealth(fleetState, clock);
      const status = ready ? 'ready' : 'not ready';
      return json(ready ? 200 : 503, {
        status,
        missing: waitsFor,
        fleet_state: state,
        environments: options.environments(),
      });
    }
    case '/metrics':
      return { status: 200, type: metrics.contentType, body: await metrics.render() };
    default:
      return json(404, { error: 'here are /healthz, /readyz and /metrics' });
  }
}

const json = (status: number, body: unknown): Reply => ({
  status,
  type: 'application/json',
  body: `${JSON.stringify(body)}\n`,
});

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

async function close(server: Server): Promise<void> {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
}
