import {
  FollowBody,
  longestCommandMs,
  ScreenAnswer,
  ScreenQuery,
  TerminalParams,
} from '#src/protocol/native/calls.ts';
import { RolloutParams, RunningAnswer, WaitQuery } from '#src/protocol/native/parts.ts';
import type { GatewayCore } from '../core-interface.ts';
import type { App } from '../http/app.ts';
import { callerOf } from '../http/identify.ts';
import { takeCall, takeRolloutRef, timeoutMsOf, waitMsOf } from '../http/taking.ts';

/** Terminals of a sandbox, from outside. What is typed into one is a call of the model's tools. */
export function terminalRoutes(app: App, core: GatewayCore): void {
  app.post(
    '/rollouts/:id/terminals/:terminal/follow',
    {
      schema: {
        operationId: 'followTerminal',
        summary: 'Follow what a terminal prints, at `/calls/{call_id}/stream`',
        params: TerminalParams,
        querystring: WaitQuery,
        body: FollowBody,
        response: { 202: RunningAnswer },
      },
    },
    async (request, reply) => {
      const { params, query, body } = request;
      const call = takeCall(request, body.call_id);
      const terminal = Number(params.terminal);
      await core.begin(callerOf(request, 'native'), {
        rollout: takeRolloutRef(request, params.id, query),
        call,
        argv: [],
        terminal,
        stream: true,
        timeoutMs: timeoutMsOf(body.timeout_s) ?? longestCommandMs,
        waitMs: waitMsOf(query.wait_s),
      });
      return reply.code(202).send({ state: 'running', rollout_id: params.id, call_id: call, sent: true });
    },
  );

  app.get(
    '/rollouts/:id/screen',
    {
      schema: {
        operationId: 'showScreen',
        summary: 'What a terminal of the rollout shows, without a change to the rollout',
        params: RolloutParams,
        querystring: ScreenQuery,
        response: { 200: ScreenAnswer },
      },
      config: { onlyReads: true },
    },
    async (request) => {
      const { params, query } = request;
      const rollout = takeRolloutRef(request, params.id, query);
      const terminal = query.terminal === undefined ? null : Number(query.terminal);
      return core.screen(callerOf(request, 'native'), rollout, terminal);
    },
  );
}
