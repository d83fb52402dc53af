import type { FastifyReply } from 'fastify';
import { Failure } from '#src/failure/failure.ts';
import type { Environment } from '#src/model/environment.ts';
import { callId } from '#src/model/ids.ts';
import {
  AnyBody,
  CreateHeaders,
  NetworkUpdate,
  NewSandbox,
  RunParams,
  SandboxParams,
} from '#src/protocol/e2b/control.ts';
import { described, Nothing, SandboxInfo, SandboxOpened, versioned } from '#src/protocol/e2b/described.ts';
import type { Caller, GatewayCore, OpenRequest, RolloutRef, RolloutView } from '../core-interface.ts';
import { invalid } from '../http/answer-failure.ts';
import type { App } from '../http/app.ts';
import { environmentRef, takeRollout } from '../http/taking.ts';
import { controllerOf } from './identify.ts';
import { writePass } from './pass.ts';
import type { E2bParts } from './parts.ts';
import { describeSandbox, listRoutes } from './listing.ts';
import { answerOf, isAlive, newSandboxId, openingOf, sandboxIdOf, withVariables } from './sandbox.ts';
import { templateOf } from './templates.ts';

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
    await parts.core.close(caller, ref, 'deleted');
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
        return answerOf(
          request.params.id,
          view.record.environment,
          passOf(parts, caller, request.params.id, {}),
        );
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

/**
 * A client waits a minute for its sandbox and then hangs up, with three tries inside of it. So it is told a little before that
 * the line was too long, and to come back later than it would try again by itself.
 */
const lineMs = 50_000;
const comeBackMs = 15_000;
/** The first command: with it the sandbox is the client's own until it ends, and no grant that could be taken back. */
const firstCall = callId('e2b-create');
const firstCallMs = 10_000;

/** `comesAgain`: with its key, and finds its sandbox or its place in line. Without one nobody but its request knows the id. */
type Opener = { readonly id: OpenRequest['rollout']; readonly comesAgain: boolean };

function openerOf({ random }: E2bParts, caller: Caller, key: string | readonly string[] | undefined): Opener {
  if (typeof key !== 'string' || key === '') return { id: newSandboxId(random), comesAgain: false };
  return { id: sandboxIdOf(caller, key), comesAgain: true };
}

async function openSandbox(
  parts: E2bParts,
  caller: Caller,
  body: NewSandbox,
  { id, comesAgain }: Opener,
  gone: AbortSignal,
) {
  const { core } = parts;
  const template = await templateOf(parts, caller.tenant, body.templateID);
  const environment = await core.environment(environmentRef(template.environment));
  checkAsked(environment, body);
  const pass = passOf(parts, caller, id, body.envVars ?? {});
  await core.open(caller, openingOf(id, body, template, environment));
  const ref = { rollout: id, attempt: 1 };
  try {
    await core.exec(caller, {
      rollout: ref,
      call: firstCall,
      argv: ['true'],
      timeoutMs: firstCallMs,
      waitMs: lineMs,
    });
    if (gone.aborted && !comesAgain)
      throw new Failure('capacity_timeout', 'nobody waits for this sandbox any more');
  } catch (thrown) {
    // It would only hold its place.
    if (!comesAgain) await core.close(caller, ref, 'deleted').catch(() => undefined);
    throw laterOn(thrown);
  }
  return answerOf(id, body.templateID, pass);
}

function laterOn(thrown: unknown): unknown {
  const isLine =
    thrown instanceof Failure && (thrown.code === 'capacity_timeout' || thrown.code === 'still_running');
  if (!isLine) return thrown;
  const { message, evidence } = thrown;
  return new Failure('capacity_timeout', message, { evidence, retryAfterMs: comeBackMs, cause: thrown });
}

function checkAsked(environment: Environment, body: NewSandbox): void {
  checkAskedNetwork(environment, body);
  const unknown = { mcp: body.mcp, iam: body.iam };
  for (const [name, value] of Object.entries(unknown)) {
    if (value !== undefined && value !== null) throw invalid(`${name} is not there; leave it out`);
  }
  if ((body.volumeMounts ?? []).length > 0) throw invalid('there are no volumes; leave volumeMounts out');
}

function passOf(
  { tokens }: E2bParts,
  { run, keyId }: Caller,
  sandbox: string,
  envs: Readonly<Record<string, string>>,
): string {
  const pass = writePass(tokens, { sandbox, run, key: keyId, envs });
  if (pass !== null) return pass;
  throw invalid(
    'envs are longer than 5 KB, which is what can travel with each request; give them to the commands that need them',
  );
}

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

/*
 * A sandbox has the network of its environment from its first moment to its last. What is asked for is taken where the sandbox
 * already is so, or has less; nothing is said to be closed that is open. Its clients ask for the internet unless they are
 * told not to, so that wish alone is not refused when a sandbox is opened, and is when it is all that is asked for.
 */

const hasNone = ({ template }: Environment): boolean => template.network === 'none';

function checkAskedNetwork(environment: Environment, body: NewSandbox): void {
  if (hasNone(environment)) return;
  if (body.allow_internet_access === false || isNarrowed(body.network ?? {})) throw cannotNarrow(environment);
}

/** Throws `invalid_request` for what the sandbox has not. `environment`: null where it is known no longer. */
function checkNetwork(environment: Environment | null, update: NetworkUpdate): void {
  if (environment === null) throw invalid('the environment of this sandbox is not offered any more');
  const isNarrower = update.allow_internet_access === false || isNarrowed(update);
  if (hasNone(environment)) {
    if (!isNarrower)
      throw invalid(`environment ${environment.name} has network: none, and nothing opens it later`);
  } else if (isNarrower) throw cannotNarrow(environment);
}

const isNarrowed = ({ allowOut, denyOut }: Pick<NetworkUpdate, 'allowOut' | 'denyOut'>): boolean =>
  (allowOut ?? []).length > 0 || (denyOut ?? []).length > 0;

const cannotNarrow = ({ name, template }: Environment) =>
  invalid(
    `environment ${name} has network: ${template.network}, and nothing closes it later; use one with network: none`,
  );
