import type { FastifyRequest } from 'fastify';
import { credentialsOf } from '#src/access/authorise.ts';
import type { Failure } from '#src/failure/failure.ts';
import { runId } from '#src/model/ids.ts';
import type { PeerTokens } from '#src/platform/tokens.ts';
import type { Caller, RolloutRef } from '../core-interface.ts';
import { invalid } from '../http/answer-failure.ts';
import { type Authentication, callerOf, createRequireScope, recordRefusal } from '../http/identify.ts';
import { originAddress } from '../http/outer-door.ts';
import { idText, takeRollout } from '../http/taking.ts';
import { grantOfPass, type Pass, readPass } from './pass.ts';

/**
 * Whose sandbox a request to E2B's data plane is for. It shows the pass that came with the sandbox, or an API key as
 * everywhere else; which sandbox it means, a header of its own says, and a pass opens no other.
 */
export type Addressed = {
  readonly caller: Caller;
  readonly ref: RolloutRef;
  readonly envs: Readonly<Record<string, string>>;
  /** Where commands start, if not where the image says. */
  readonly cwd: string | undefined;
};

type Params = { readonly run?: string };

/** A hook: who shows neither a good pass nor a good key is refused before anything of the body is read. */
export function createRequirePass(authentication: Authentication, tokens: PeerTokens) {
  const requireKey = createRequireScope(authentication)('native');
  return (request: FastifyRequest): Promise<void> => {
    const shown = headerOf(request, 'x-access-token');
    return shown === null ? requireKey(request) : takePass(authentication, tokens, request, shown);
  };
}

async function takePass(
  authentication: Authentication,
  tokens: PeerTokens,
  request: FastifyRequest,
  shown: string,
): Promise<void> {
  const { developmentKey, clock, keyRing } = authentication;
  const { origin } = credentialsOf(request.headers, originAddress(request.socket));
  try {
    const pass = passFor(request, readPass(tokens, shown));
    const grant = grantOfPass(pass, origin, { keys: keyRing.keys(), developmentKey, nowMs: clock.nowMs() });
    if (request.state !== null) {
      request.state.grant = pass === null ? grant : { ...grant, defaultRun: runId(pass.run) };
      request.state.pass = pass;
    }
  } catch (thrown) {
    recordRefusal(authentication, request, ['native'], thrown);
    throw thrown;
  }
}

/** Null too where it is the pass of another sandbox. */
function passFor(request: FastifyRequest, pass: Pass | null): Pass | null {
  return pass?.sandbox === headerOf(request, 'e2b-sandbox-id') ? pass : null;
}

/** Where E2B's daemon listens in a sandbox: the one port that is served, under the gateway's address. */
const envdPort = '49983';
/** What `get_host` of E2B's SDK is for. */
const noPorts =
  'sandboxes publish no ports, so the address of get_host does not work; send the request from inside, as a command (curl)';
/** At most so much of an address is repeated to its sender. */
const shownLength = 200;

/** For an address that does not exist: it may have been meant for a port of a sandbox. */
export function refuseAddress({ method, url }: Pick<FastifyRequest, 'method' | 'url'>): Failure {
  return invalid(`there is no ${method} ${url.split('?', 1)[0]?.slice(0, shownLength)} here; ${noPorts}`);
}

export function addressedBy(request: FastifyRequest): Addressed {
  const port = headerOf(request, 'e2b-sandbox-port') ?? envdPort;
  if (port !== envdPort) throw refuseAddress(request);
  const id = headerOf(request, 'e2b-sandbox-id');
  if (id === null) throw invalid('no sandbox is named; send the header E2b-Sandbox-Id');
  const pass = request.state?.pass ?? null;
  const { run } = request.params as Params;
  return {
    caller: callerOf(request, 'e2b', pass?.run ?? run),
    ref: { rollout: takeRollout(request, idText(id, 'E2b-Sandbox-Id'), 'E2b-Sandbox-Id'), attempt: null },
    envs: pass?.envs ?? {},
    cwd: pass?.cwd,
  };
}

/** Whom a request to the control plane is of: the run in its address, else as on the native face. */
export function controllerOf(request: FastifyRequest): Caller {
  const { run } = request.params as Params;
  return callerOf(request, 'e2b', run);
}

/** Commands have one user, whose id the environment chose; what its clients call it is all the same. */
const knownUsers: ReadonlySet<string> = new Set(['', 'user', 'root']);

export const isKnownUser = (user: string): boolean => knownUsers.has(user);

/** Throws `invalid_request` for a user that would be another one. */
export function checkUser(request: FastifyRequest, named?: string): void {
  const [scheme = '', credentials = ''] = (headerOf(request, 'authorization') ?? '').split(' ');
  const isBasic = scheme.toLowerCase() === 'basic';
  const told = isBasic ? Buffer.from(credentials, 'base64').toString('utf8').split(':', 1)[0] : '';
  const user = named ?? told ?? '';
  if (isKnownUser(user)) return;
  throw invalid(
    `there is no user ${JSON.stringify(user.slice(0, 40))}: commands and files have the sandbox's one user`,
  );
}

function headerOf(request: FastifyRequest, name: string): string | null {
  const value = request.headers[name];
  return typeof value === 'string' && value !== '' ? value : null;
}
