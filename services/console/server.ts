import { gzip } from 'node:zlib';
import { promisify } from 'node:util';
import type { FastifyRequest } from 'fastify';
import { thisProcess } from '#src/platform/this-process.ts';
import type { Clock } from '#src/ports/clock.ts';
import type { Log } from '#src/ports/log.ts';
import type { Random } from '#src/ports/random.ts';
import type { ConsoleHealth } from '#src/protocol/console/session.ts';
import { openTexts } from './call-texts.ts';
import type { ConsoleConfig } from './config.ts';
import { FleetHistories } from './fleet-histories.ts';
import { connectGateway } from './gateway.ts';
import { type App, createApp } from './http/app.ts';
import { fleetRoutes } from './http/fleet-routes.ts';
import { guardRequests, healthPath } from './http/guard.ts';
import { pageRoutes } from './http/page-routes.ts';
import { rolloutRoutes } from './http/rollout-routes.ts';
import { runRoutes } from './http/run-routes.ts';
import { cookieIn, originOf, sessionCookie, sessionRoutes } from './http/session-routes.ts';
import { RunReaders } from './run-readers.ts';
import { TextSearches } from './search.ts';
import { Sessions } from './sessions.ts';

export type ConsoleServer = {
  /** Resolves to the port that it listens at. */
  listen(): Promise<number>;
  close(): Promise<void>;
};

export type ConsoleDeps = {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** The folder with the bundled page. */
  readonly page: string;
};

/** Reads fleets and changes nothing: only a log-in has a body. */
export function createConsoleServer(config: ConsoleConfig, deps: ConsoleDeps): ConsoleServer {
  const { gatewayUrl, stateFolder, origins, listen, firstLogin } = config;
  const readers = new RunReaders({ gatewayUrl, stateFolder, ...deps });
  const fleets = new FleetHistories(deps.clock);
  const sessions = new Sessions({
    ...deps,
    connect: (key) => connectGateway(gatewayUrl, key),
    onEnd: (session) => {
      fleets.leave(session);
      void readers.closeOf(session);
    },
  });
  const cookie = sessionCookie(origins, listen.port);
  const sessionOf = async (request: FastifyRequest) => {
    const session = await sessions.find(cookieIn(request, cookie.name), originOf(request));
    fleets.follow(session);
    return session;
  };
  const texts = openTexts(config.kept);
  const app = createApp(deps.log);
  guardRequests(app, origins);
  compressAnswers(app);
  pageRoutes(app, deps.page);
  app.get(healthPath, (): ConsoleHealth => ({ status: 'ok', pid: thisProcess.pid }));
  sessionRoutes(app, { sessions, cookie, firstLogin, ...deps });
  runRoutes(app, { sessionOf, readers, searches: new TextSearches(texts, deps.clock) });
  fleetRoutes(app, { sessionOf, fleets });
  rolloutRoutes(app, { sessionOf, readers, texts });
  return {
    listen: async () => {
      await app.listen(listen);
      return portOf(app);
    },
    close: async () => {
      await app.close();
      fleets.close();
      sessions.close();
      await readers.closeAll();
    },
  };
}

function portOf(app: App): number {
  const address = app.server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

const worthIt = 4 * 1024;
const compress = promisify(gzip);

/** Nothing in an answer is both secret and chosen by others request by request, which compression would give away. */
function compressAnswers(app: App): void {
  app.addHook('onSend', async (request, reply, payload: unknown) => {
    if (typeof payload !== 'string' || payload.length < worthIt) return payload;
    if (!/\bgzip\b/.test(request.headers['accept-encoding'] ?? '')) return payload;
    reply.header('content-encoding', 'gzip').header('vary', 'accept-encoding').removeHeader('content-length');
    return compress(payload);
  });
}
