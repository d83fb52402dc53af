import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { Failure } from '#src/failure/failure.ts';
import type { Timings } from '#src/model/timings.ts';
import { GradeAnswer, GradeBody, ToolCallAnswer, ToolCallBody } from '#src/protocol/rft/wire.ts';
import type { GatewayCore, ToolCallRequest } from '../core-interface.ts';
import type { App } from '../http/app.ts';
import { callerOf, type RequireScope } from '../http/identify.ts';
import {
  environmentRef,
  takeArguments,
  takeCall,
  takeItem,
  takeRollout,
  takeSample,
  writtenArguments,
  writtenSample,
} from '../http/taking.ts';

/**
 * The face of reinforcement fine-tuning platforms: 200 or 5xx, because there a 4xx body is shown to the model. A
 * rollout is opened by its first call, and nothing announces its end.
 */

const ToolParams = Type.Object({ environment: Type.String(), tool: Type.String() });
const EnvironmentParams = Type.Object({ environment: Type.String() });

export function rftRoutes(
  app: App,
  core: GatewayCore,
  requireScope: RequireScope,
  { requestHoldMs }: Timings,
): void {
  const held: Held = { core, waitMs: requestHoldMs };
  const tools = { body: ToolCallBody, response: { 200: ToolCallAnswer } };
  const onToolCall = requireScope('rft:tools');

  // The job may have given the function another name than ours: the address says which tool is meant.
  app.post(
    '/:environment/tools/:tool',
    {
      schema: {
        ...tools,
        operationId: 'rftCallTool',
        summary: 'Call the tool that the address names',
        params: ToolParams,
      },
      onRequest: onToolCall,
      config: { written: writtenArguments },
    },
    (request) =>
      answerToolCall(held, request, request.params, request.body, {
        tool: request.params.tool,
        namedBy: 'job',
      }),
  );

  app.post(
    '/:environment/tools',
    {
      schema: {
        ...tools,
        operationId: 'rftCallToolByName',
        summary: 'Call the tool that the body names',
        params: EnvironmentParams,
      },
      onRequest: onToolCall,
      config: { written: writtenArguments },
    },
    (request) =>
      answerToolCall(held, request, request.params, request.body, {
        tool: request.body.name,
        namedBy: 'model',
      }),
  );

  app.post(
    '/:environment/grade',
    {
      schema: {
        operationId: 'rftGrade',
        summary: 'Score a rollout, or refuse to',
        params: EnvironmentParams,
        body: GradeBody,
        response: { 200: GradeAnswer },
      },
      onRequest: requireScope('rft:grade'),
      config: { written: writtenSample },
    },
    (request) => answerGrade(held, request, request.params, request.body),
  );
}

/** The core, and how long it holds a request. */
type Held = { readonly core: GatewayCore; readonly waitMs: number };

async function answerToolCall(
  { core, waitMs }: Held,
  request: FastifyRequest,
  params: { readonly environment: string },
  body: ToolCallBody,
  meant: Pick<ToolCallRequest, 'tool' | 'namedBy'>,
): Promise<ToolCallAnswer> {
  const rollout = takeRollout(request, body.trace_id, 'trace_id');
  const call = takeCall(request, body.call_id);
  const caller = callerOf(request, 'rft');
  const result = await core.toolCall(caller, {
    rollout: { rollout, attempt: null },
    open: { environment: environmentRef(params.environment), item: takeItem(body.item) },
    call,
    ...meant,
    arguments: takeArguments(request),
    timeoutMs: null,
    waitMs,
  });
  return { type: 'function_call_output', call_id: body.call_id, id: body.id, output: result.output };
}

async function answerGrade(
  { core, waitMs }: Held,
  request: FastifyRequest,
  params: { readonly environment: string },
  body: GradeBody,
): Promise<GradeAnswer> {
  const rollout = takeRollout(request, body.trace_id, 'trace_id');
  const { score } = await core.grade(callerOf(request, 'rft'), {
    rollout: { rollout, attempt: null },
    open: { environment: environmentRef(params.environment), item: takeItem(body.item) },
    sample: takeSample(request) ?? '{}',
    waitMs,
  });
  // JSON has no word for infinity: it would leave as null, which a trainer may read as 0.
  if (Number.isFinite(score)) return { score };
  throw new Failure('grader_failed', `the grader returned ${score}, which is not a finite number`);
}
