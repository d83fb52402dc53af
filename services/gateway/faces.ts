import type { DescribedRoute, RouteSchema } from '../../src/protocol/native/openapi.ts';
import type { GatewayCore } from './core.ts';
import type { App } from './http/app.ts';
import type { HoldGate } from './http/hold-gate.ts';
import { createRequireScope } from './http/identify.ts';
import type { Doors } from './http/identify.ts';
import { acceptJsonBodies } from './http/json-bodies.ts';
import type { JsonLimits } from './http/json-bodies.ts';
import { newRequestState } from './http/request-state.ts';
import { callRoutes } from './native/call-routes.ts';
import { eventRoutes } from './native/event-routes.ts';
import type { EventDesk } from './native/event-routes.ts';
import { environmentRoutes } from './native/environment-routes.ts';
import { fileRoutes } from './native/file-routes.ts';
import { fleetRoutes } from './native/fleet-routes.ts';
import type { FleetDesk } from './native/fleet-routes.ts';
import { prewarmRoutes } from './native/prewarm-routes.ts';
import { rolloutRoutes } from './native/rollout-routes.ts';
import { runRoutes } from './native/run-routes.ts';
import type { RunDesk } from './native/run-routes.ts';
import { rftRoutes } from './rft/routes.ts';

export type FaceParts = {
  readonly core: GatewayCore;
  readonly desk: RunDesk;
  readonly fleet: FleetDesk;
  readonly events: EventDesk;
  readonly doors: Doors;
  readonly fileBytes: number;
};

/**
 * One megabyte is the platforms' own bound; a little more, so that a body at the bound passes with its wrapping. What
 * is read and thrown away of a larger one keeps the connection whole for the answer.
 */
const jsonLimits: JsonLimits = { maxBytes: 1024 * 1024 + 64 * 1024, drainBytes: 64 * 1024 * 1024 };

/** Both faces; every request passes the hold gate first, then its key, and only then its body is read. */
export async function addFaces(app: App, parts: FaceParts, gate: HoldGate): Promise<void> {
  const requireScope = createRequireScope(parts.doors);
  app.addHook('onRequest', (request, reply, done) => {
    const state = newRequestState();
    request.state = state;
    state.hold = gate.enter((failure) => {
      void reply.send(failure);
      state.cutOff = true;
    });
    done();
  });
  acceptJsonBodies(app, jsonLimits);
  await app.register(async (rft) => rftRoutes(rft, parts.core, requireScope), { prefix: '/rft' });
  await app.register(
    async (native) => {
      native.addHook('onRequest', requireScope('native'));
      rolloutRoutes(native, parts.core);
      prewarmRoutes(native, parts.core);
      callRoutes(native, parts.core);
      runRoutes(native, parts.desk);
      eventRoutes(native, parts.events);
      environmentRoutes(native, parts.core);
      await native.register(async (files) => fileRoutes(files, parts.core, parts.fileBytes));
    },
    { prefix: '/v1' },
  );
  await app.register(
    async (watchers) => {
      // Whoever only watches needs no right to do anything.
      watchers.addHook('onRequest', requireScope('native', 'fleet'));
      fleetRoutes(watchers, parts.fleet);
    },
    { prefix: '/v1' },
  );
}

/** Lists what the native face offers, as it is registered. Call before {@link addFaces}. */
export function listNativeRoutes(app: App): readonly DescribedRoute[] {
  const routes: DescribedRoute[] = [];
  app.addHook('onRoute', ({ method, url, schema }) => {
    if (!url.startsWith('/v1/')) return;
    const methods = [method].flat().filter((name) => name !== 'HEAD');
    const described = methods.map((name) => ({
      method: name,
      path: url,
      schema: (schema ?? {}) as RouteSchema,
    }));
    routes.push(...described);
  });
  return routes;
}
