import { taskDigest } from '#src/model/requirements.ts';
import type { ControlReply, Standing } from '#src/ports/fleet/controls.ts';
import { ControlAnswer, ControlAskBody, ControlResultBody } from '#src/protocol/native/requirements.ts';
import type { GatewayCore } from '../core-interface.ts';
import type { App } from '../http/app.ts';
import { callerOf } from '../http/identify.ts';
import { environmentRef } from '../http/taking.ts';

/** Long enough to miss two renewals of 20 s. */
const leaseMs = 60_000;

/** Standings of tasks: whether nop and the task's own solution showed, without any policy, that its verifier works here. */
export function controlRoutes(app: App, core: GatewayCore): void {
  app.post(
    '/controls',
    {
      schema: {
        operationId: 'askStanding',
        summary: 'Ask for the standing of a task, or for the lease to find it',
        body: ControlAskBody,
        response: { 200: ControlAnswer },
      },
    },
    async (request) => {
      const { run, environment, task, holder, again = false } = request.body;
      const of = { environment: environmentRef(environment), task: taskDigest(task), holder };
      return present(await core.askControl(callerOf(request, 'native', run), of, { leaseMs, again }));
    },
  );

  app.put(
    '/controls',
    {
      schema: {
        operationId: 'recordStanding',
        summary: 'Record what the controls of a task showed',
        body: ControlResultBody,
        response: { 200: ControlAnswer },
      },
    },
    async (request) => {
      const { run, environment, task, holder, outcome, ...facts } = request.body;
      const of = { environment: environmentRef(environment), task: taskDigest(task), holder };
      const found = outcome === 'inconclusive' ? null : standingOf(outcome, facts);
      return present(await core.concludeControl(callerOf(request, 'native', run), of, found));
    },
  );
}

type Facts = { readonly reason?: string; readonly solution_verifier_took_s?: number };

function standingOf(
  standing: Standing['standing'],
  { reason, solution_verifier_took_s: tookS }: Facts,
): Standing {
  return {
    standing,
    ...(reason !== undefined && { reason }),
    ...(tookS !== undefined && { verifierTookMs: Math.round(tookS * 1000) }),
  };
}

function present(reply: ControlReply): ControlAnswer {
  const { reason, verifierTookMs } = { reason: undefined, verifierTookMs: undefined, ...reply };
  return {
    standing: reply.standing,
    ...(reason !== undefined && { reason }),
    ...(verifierTookMs !== undefined && { solution_verifier_took_s: verifierTookMs / 1000 }),
    lease_s: leaseMs / 1000,
  };
}
