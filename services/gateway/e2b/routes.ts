import type { FastifyRequest } from 'fastify';
import type { App } from '../http/app.ts';
import { type Authentication, createRequireScope } from '../http/identify.ts';
import { controlRoutes } from './control-routes.ts';
import { fileRoutes } from './file-routes.ts';
import { filesystemRoutes } from './filesystem-routes.ts';
import { followRequests } from './follow-requests.ts';
import { createRequirePass, refuseAddress } from './identify.ts';
import type { E2bParts } from './parts.ts';
import { processRoutes } from './process-routes.ts';
import { templateRoutes } from './templates.ts';

/** Before anything of the body is read: who sends it may have no key. */
async function refuse(request: FastifyRequest): Promise<never> {
  throw refuseAddress(request);
}

/**
 * The wire of E2B's sandboxes, for clients that speak nothing else (its SDK, Harbor, verifiers), under the address that they are
 * given as E2B's own: `/e2b`, or `/e2b/runs/{run}`, because they have no other way to name a run.
 */
export function e2bRoutes(app: App, parts: E2bParts, authentication: Authentication): void {
  for (const prefix of ['', '/runs/:run']) {
    void app.register(
      async (control) => {
        control.addHook('onRequest', createRequireScope(authentication)('native'));
        controlRoutes(control, parts);
        templateRoutes(control, parts);
      },
      { prefix },
    );
    void app.register(
      async (data) => {
        const requirePass = createRequirePass(authentication, parts.tokens);
        data.addHook('onRequest', requirePass);
        followRequests(data, parts, requirePass);
        processRoutes(data, parts);
        filesystemRoutes(data, parts);
        await data.register(async (files) => fileRoutes(files, parts));
      },
      { prefix },
    );
    // `get_host` of the SDK is this address: what is sent there was meant for a port of the sandbox.
    app.all(`${prefix}/*`, { onRequest: refuse }, refuse);
  }
}
