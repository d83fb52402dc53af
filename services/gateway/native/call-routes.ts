import type { FastifyReply, FastifyRequest } from 'fastify';
import { CallAnswer, CallBody, CancelAnswer, ExecBody } from '#src/protocol/native/calls.ts';
import {
  RunningAnswer,
  AttemptQuery,
  CallParams,
  RolloutParams,
  WaitQuery,
} from '#src/protocol/native/parts.ts';
import type { OutputStream } from '#src/protocol/sandboxd/wire.ts';
import type { CallResult, ExecRequest, GatewayCore, RolloutRef } from '../core-interface.ts';
import { invalid } from '../http/answer-failure.ts';
import type { App } from '../http/app.ts';
import { callerOf } from '../http/identify.ts';
import {
  takeArguments,
  takeCall,
  takeRolloutRef,
  timeoutMsOf,
  waitMsOf,
  writtenArguments,
} from '../http/taking.ts';
import { largeAnswer, presentCallResult } from './present-call.ts';

/**
 * Tool calls and commands. The same call id again attaches to the call, or gets its recorded answer. A tool's name is taken for the
 * model's word here, and a wrong one is told to it: trainers pass on what it wrote. Only commands of the trainer's own may have
 * asked for more output than an answer holds.
 */
export function callRoutes(app: App, core: GatewayCore): void {
  const answered = async (
    request: FastifyRequest,
    reply: FastifyReply,
    rollout: RolloutRef,
    result: CallResult,
  ) => {
    const { kept, callId } = result;
    if (kept === undefined) return presentCallResult(result);
    const open = (stream: OutputStream) => core.output(callerOf(request, 'native'), rollout, callId, stream);
    return reply.type('application/json').send(await largeAnswer({ ...result, kept }, open));
  };

  app.post(
    '/rollouts/:id/calls',
    {
      schema: {
        operationId: 'callTool',
        summary: 'Call a tool of the environment',
        params: RolloutParams,
        querystring: WaitQuery,
        body: CallBody,
        response: { 200: CallAnswer, 202: RunningAnswer },
      },
      config: { written: writtenArguments },
    },
    async (request) => {
      const { params, query, body } = request;
      const result = await core.toolCall(callerOf(request, 'native'), {
        rollout: takeRolloutRef(request, params.id, query),
        open: null,
        call: takeCall(request, body.call_id),
        tool: body.name,
        namedBy: 'model',
        arguments: takeArguments(request),
        timeoutMs: timeoutMsOf(body.timeout_s),
        waitMs: waitMsOf(query.wait_s),
        ...(body.setup === true && { setup: true }),
      });
      return presentCallResult(result);
    },
  );

  app.post(
    '/rollouts/:id/exec',
    {
      schema: {
        operationId: 'runCommand',
        summary: "Run a command of the trainer's own",
        params: RolloutParams,
        querystring: WaitQuery,
        body: ExecBody,
        response: { 200: CallAnswer, 202: RunningAnswer },
      },
    },
    async (request, reply) => {
      const { params, query, body } = request;
      const rollout = takeRolloutRef(request, params.id, query);
      const call = takeCall(request, body.call_id);
      const times = { timeoutMs: timeoutMsOf(body.timeout_s), waitMs: waitMsOf(query.wait_s) };
      const mark = body.setup === true ? { setup: true } : {};
      const asked = { rollout, call, ...commandOf(body), ...times, ...mark };
      const caller = callerOf(request, 'native');
      if (asked.stream !== true) return answered(request, reply, rollout, await core.exec(caller, asked));
      await core.begin(caller, asked);
      return reply.code(202).send({ state: 'running', rollout_id: params.id, call_id: call, sent: true });
    },
  );

  app.get(
    '/rollouts/:id/calls/:call_id',
    {
      schema: {
        operationId: 'attachCall',
        summary: 'Attach to a call whose answer was lost',
        params: CallParams,
        querystring: WaitQuery,
        response: { 200: CallAnswer, 202: RunningAnswer },
      },
    },
    async (request, reply) => {
      const { params, query } = request;
      const rollout = takeRolloutRef(request, params.id, query);
      const call = takeCall(request, params.call_id);
      const caller = callerOf(request, 'native');
      const result = await core.attach(caller, rollout, call, waitMsOf(query.wait_s));
      return answered(request, reply, rollout, result);
    },
  );

  app.post(
    '/rollouts/:id/calls/:call_id/cancel',
    {
      schema: {
        operationId: 'cancelCall',
        summary: 'Stop a call, or keep one that has not begun from running',
        params: CallParams,
        querystring: AttemptQuery,
        response: { 202: CancelAnswer },
      },
    },
    async (request, reply) => {
      const rollout = takeRolloutRef(request, request.params.id, request.query);
      const call = takeCall(request, request.params.call_id);
      const { began, waiting } = await core.cancel(callerOf(request, 'native'), rollout, call);
      return reply.code(202).send({ call_id: call, state: 'cancelling', began, waiting });
    },
  );
}

function commandOf(
  body: ExecBody,
): Omit<ExecRequest, 'rollout' | 'call' | 'timeoutMs' | 'waitMs' | 'killAtOnce'> {
  const { argv, command, cwd, env, user, merge, binary, stream, open_stdin, max_output_bytes, setup } = body;
  if (open_stdin === true && stream !== true) throw invalid('open_stdin needs stream');
  // A replay has no reader, and none of what came on stdin later.
  if (stream === true && setup === true) throw invalid('a set-up command cannot be a stream');
  if ((argv === undefined) === (command === undefined)) {
    throw invalid('give either argv or command');
  }
  return {
    ...(argv === undefined ? { argv: ['sh', '-c', command ?? ''], preferBash: true } : { argv }),
    ...(cwd === undefined ? {} : { cwd }),
    ...(env === undefined ? {} : { env }),
    ...stdinOf(body),
    ...(user === undefined ? {} : { user }),
    ...(merge === true ? { merge } : {}),
    ...(binary === true ? { binary } : {}),
    ...(stream === true ? { stream } : {}),
    ...(open_stdin === true ? { openStdin: open_stdin } : {}),
    ...(max_output_bytes === undefined ? {} : { maxOutputBytes: max_output_bytes }),
  };
}

function stdinOf({ stdin, stdin_base64 }: ExecBody): Pick<ExecRequest, 'stdin'> {
  if (stdin_base64 === undefined) return stdin === undefined ? {} : { stdin };
  if (stdin !== undefined) throw invalid('give either stdin or stdin_base64');
  if (stdin_base64.length % 4 !== 0) throw invalid('stdin_base64 is not padded base64');
  return { stdin: { base64: stdin_base64 } };
}
