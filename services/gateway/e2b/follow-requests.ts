import type { FastifyReply, FastifyRequest } from 'fastify';
import { failureRow } from '#src/failure/codes.ts';
import { asFailure } from '#src/failure/failure.ts';
import { rolloutKey } from '#src/model/rollout.ts';
import type { RequestInHand } from '#src/lifecycle/requests-in-hand.ts';
import { Deadline } from '#src/waiting/deadline.ts';
import type { App } from '../http/app.ts';
import { readDeadline } from './client-deadline.ts';
import { addressedBy } from './identify.ts';
import type { E2bParts } from './parts.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Its handler itself calls {@link entered}. */
    readonly entersLater?: boolean;
  }
}

export const entersLater = { entersLater: true } as const;

/** A request that brings no deadline is held so long for fleet state: as a file transfer is. */
const longestHoldMs = 600_000;

/** Every request for a sandbox is followed while this gateway has it in hand, from its first byte to its last. */
export function followRequests(
  app: App,
  parts: E2bParts,
  requirePass: (request: FastifyRequest) => Promise<void>,
): void {
  app.addHook('preHandler', async (request, reply) => {
    follow(request, reply, parts);
    if (request.routeOptions.config.entersLater === true) return;
    await entered(request, holdOf(request, parts));
  });
  // Also of what failed before its handler, where its sandbox is only known if it shows a good pass.
  app.addHook('onError', async (request, reply, error) => {
    const failure = asFailure(error);
    if (failureRow(failure.code).blame !== 'infrastructure') return;
    const isKnown = await identify(request, requirePass);
    if (isKnown) follow(request, reply, parts).failed(failure);
  });
}

/** Resolves when fleet state has the request. Throws `recovering` or `state_unavailable` when `until` has passed. */
export async function entered(request: FastifyRequest, until: Deadline): Promise<void> {
  await request.state?.inHand?.entered(until);
}

function follow(request: FastifyRequest, reply: FastifyReply, { requests }: E2bParts): RequestInHand {
  const known = request.state?.inHand ?? null;
  if (known !== null) return known;
  const { caller, ref } = addressedBy(request);
  const { tenant, run } = caller;
  const inHand = requests.open(rolloutKey({ tenant, run, rollout: ref.rollout, attempt: 1, role: 'policy' }));
  if (request.state !== null) request.state.inHand = inHand;
  reply.raw.once('close', () => inHand.closed(reply.raw.writableFinished));
  return inHand;
}

function holdOf({ headers }: FastifyRequest, { clock }: E2bParts): Deadline {
  const asked = headers['connect-timeout-ms'];
  const holdMs = asked === undefined ? longestHoldMs : readDeadline(asked, clock).times.waitMs;
  return Deadline.in(clock, Math.min(holdMs, longestHoldMs));
}

/** Whether it can be said whose sandbox a request is for. */
async function identify(
  request: FastifyRequest,
  requirePass: (request: FastifyRequest) => Promise<void>,
): Promise<boolean> {
  try {
    if ((request.state?.grant ?? null) === null) await requirePass(request);
    addressedBy(request);
    return true;
  } catch {
    return false;
  }
}
