import type { FastifyReply } from 'fastify';
import { Failure } from '#src/failure/failure.ts';
import type { Environment } from '#src/model/environment.ts';
import {
  AnyBody,
  CreateHeaders,
  NetworkUpdate,
  NewSandbox,
  RunParams,
  SandboxParams,
} from '#src/protocol/e2b/control.ts';
import { described, Nothing, SandboxInfo, SandboxOpened, versioned } from '#src/protocol/e2b/described.ts';
import type { Caller, GatewayCore, RolloutRef, RolloutView } from '../core-interface.ts';
import { invalid } from '../http/answer-failure.ts';
import type { App } from '../http/app.ts';
import { Deadline } from '#src/waiting/deadline.ts';
import { takeRollout } from '../http/taking.ts';
import { checkNetwork } from './asked-network.ts';
import { controllerOf } from './identify.ts';
import { openerOf, openSandbox, passOf } from './opening.ts';
import type { E2bParts } from './parts.ts';
import { describeSandbox, listRoutes } from './listing.ts';
import { answerOf, isAlive, withVariables } from './sandbox.ts';
import { findTemplate } from './template-names.ts';

/**
 * A client waits a minute for the end of its sandbox. Frameworks try twice within seconds and then leave the sandbox as it is, so the
 * request is held while another one may have been lost.
 */
const endingMs = 50_000;

/**
 * E2B's control plane: sandboxes from opening to their end. `timeout` is heard and not obeyed: a sandbox lives by the limits of
 * its environment, each call renews its lease, and so do the routes that would renew it there.
 */
export function controlRoutes(app: App, parts: E2bParts): void {
  for (const path of ['/sandboxes', '/v2/sandboxes']) {
    const opened = { 201: SandboxOpened };
    const opening = described(versioned('e2bCreateSandbox', path), 'Open a sandbox', opened, {
      headers: CreateHeaders,
    });
    app.post(
      path,
      { schema: { ...opening, params: RunParams, body: NewSandbox } },
      async (request, reply) => {
        const caller = controllerOf(request);
        const opener = openerOf(parts, caller, request.headers['idempotency-key']);
        takeRollout(request, opener.id, 'the sandbox id');
        const gone = new AbortController();
        reply.raw.once('close', () => gone.abort());
        const answer = await openSandbox(parts, caller, request.body, opener, gone.signal);
        return reply.code(201).send(answer);
      },
    );
  }
  listRoutes(app, parts);

  const looking = described('e2bGetSandbox', 'One sandbox', { 200: SandboxInfo });
  app.get('/sandboxes/:id', { schema: { ...looking, params: SandboxParams } }, async (request, reply) => {
    const { view } = await look(parts.core, request);
    if (view === null) return answerNone(reply, request.params.id);
    return describeSandbox(parts, view, await environmentOf(parts.core, view));
  });

  const killing = described('e2bKillSandbox', 'End a sandbox', { 204: Nothing });
  app.delete('/sandboxes/:id', { schema: { ...killing, params: SandboxParams } }, async (request, reply) => {
    const { caller, ref, view } = await look(parts.core, request, () => true);
    if (view === null || view.record.closedAtMs !== null) return answerNone(reply, request.params.id);
    const until = Deadline.in(parts.clock, endingMs);
    await parts.requests.whenDecided(until);
    await parts.core.close(caller, ref, 'deleted', until.remainingMs);
    return reply.code(204).send();
  });

  const renewals = { e2bSetTimeout: '/sandboxes/:id/timeout', e2bRefreshSandbox: '/sandboxes/:id/refreshes' };
  for (const [id, path] of Object.entries(renewals)) {
    const renewing = described(id, 'Renew the lease; the environment sets how long', { 204: Nothing });
    app.post(
      path,
      { schema: { ...renewing, params: SandboxParams, body: AnyBody } },
      async (request, reply) => {
        const { caller, ref, view } = await look(parts.core, request);
        if (view === null) return answerNone(reply, request.params.id);
        await parts.core.heartbeat(caller, ref);
        return reply.code(204).send();
      },
    );
  }

  for (const path of ['/sandboxes/:id/connect', '/v2/sandboxes/:id/connect']) {
    const connecting = described(versioned('e2bConnectSandbox', path), 'A new pass for a sandbox', {
      200: SandboxOpened,
    });
    app.post(
      path,
      { schema: { ...connecting, params: SandboxParams, body: AnyBody } },
      async (request, reply) => {
        const { caller, ref, view } = await look(parts.core, request);
        if (view === null) return answerNone(reply, request.params.id);
        if (view.record.tags.labels.includes(withVariables)) throw invalid(variablesAreElsewhere);
        await parts.core.heartbeat(caller, ref);
        const { templateID } = await describeSandbox(parts, view, await environmentOf(parts.core, view));
        const cwd = (await findTemplate(parts, caller.tenant, templateID))?.workdir;
        const pass = passOf(parts, caller, request.params.id, { envs: {}, ...(cwd && { cwd }) });
        return answerOf(request.params.id, templateID, pass);
      },
    );
  }

  app.put(
    '/sandboxes/:id/network',
    {
      schema: {
        ...described('e2bUpdateNetwork', 'Ask for a network that the sandbox has already', { 204: Nothing }),
        params: SandboxParams,
        body: NetworkUpdate,
      },
    },
    async (request, reply) => {
      const { view } = await look(parts.core, request);
      if (view === null) return answerNone(reply, request.params.id);
      const environment = await environmentOf(parts.core, view);
      checkNetwork(environment, request.body);
      return reply.code(204).send();
    },
  );
}

const variablesAreElsewhere =
  'this sandbox was opened with envs, which only the token of whoever opened it carries; use that Sandbox, or open it without envs';

type Asked = { readonly params: { readonly id: string } } & Parameters<typeof controllerOf>[0];

/** A sandbox that is there and is what the route wants; null where it is not: E2B's clients know only that it is gone. */
async function look(
  core: GatewayCore,
  request: Asked,
  wanted: (view: RolloutView) => boolean = isAlive,
): Promise<{ readonly caller: Caller; readonly ref: RolloutRef; readonly view: RolloutView | null }> {
  const caller = controllerOf(request);
  const ref = { rollout: takeRollout(request, request.params.id, 'the sandbox id'), attempt: null };
  const view = await core.view(caller, ref).catch(unlessUnknown);
  return { caller, ref, view: view !== null && wanted(view) ? view : null };
}

function unlessUnknown(thrown: unknown): null {
  if (thrown instanceof Failure && thrown.code === 'rollout_unknown') return null;
  throw thrown;
}

function answerNone(reply: FastifyReply, id: string): FastifyReply {
  return reply.code(404).send({ code: 404, message: `Sandbox ${id} not found` });
}

/** As it is now, for what it looks like; null where it is offered no longer. */
async function environmentOf(core: GatewayCore, { record }: RolloutView): Promise<Environment | null> {
  return core.environment({ name: record.environment, version: record.version }).catch(() => null);
}
