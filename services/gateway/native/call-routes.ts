import { Readable } from 'node:stream';
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
      const result = await core.exec(callerOf(request, 'native'), {
        rollout,
        call: takeCall(request, body.call_id),
        ...commandOf(body),
        timeoutMs: timeoutMsOf(body.timeout_s),
        waitMs: waitMsOf(query.wait_s),
        ...(body.setup === true && { setup: true }),
      });
      return answered(request, reply, rollout, result);
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
  const { argv, command, cwd, env, user, merge, binary, max_output_bytes } = body;
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
    ...(max_output_bytes === undefined ? {} : { maxOutputBytes: max_output_bytes }),
  };
}

function stdinOf({ stdin, stdin_base64 }: ExecBody): Pick<ExecRequest, 'stdin'> {
  if (stdin_base64 === undefined) return stdin === undefined ? {} : { stdin };
  if (stdin !== undefined) throw invalid('give either stdin or stdin_base64');
  if (stdin_base64.length % 4 !== 0) throw invalid('stdin_base64 is not padded base64');
  return { stdin: { base64: stdin_base64 } };
}

type Streams = Readonly<Record<OutputStream, AsyncIterable<Uint8Array> | null>>;

/**
 * A settled call whose sandbox has kept more of its output than fleet state: the same JSON as ever, with that in its place,
 * written as it comes. Twenty megabytes for each of some hundreds of calls at once would be more than a gateway has.
 * Both streams are open before the first byte is sent, so that what has gone is a failure with a status.
 */
async function largeAnswer(
  result: CallResult & Required<Pick<CallResult, 'kept'>>,
  open: (stream: OutputStream) => Promise<AsyncIterable<Uint8Array>>,
): Promise<Readable> {
  const { kept } = result;
  const wanted = (stream: OutputStream) => (kept[stream] > 0 ? open(stream) : Promise.resolve(null));
  const stdout = await wanted('stdout');
  const stderr = await wanted('stderr').catch(async (failure: unknown) => {
    await letGo(stdout);
    throw failure;
  });
  return Readable.from(pieces(presentCallResult(result), { stdout, stderr }), { objectMode: false });
}

async function letGo(bytes: AsyncIterable<Uint8Array> | null): Promise<void> {
  await bytes?.[Symbol.asyncIterator]().return?.();
}

async function* pieces(answer: CallAnswer, streams: Streams): AsyncGenerator<string> {
  const isBinary = answer.stdout_base64 !== undefined;
  for (const stream of ['stdout', 'stderr'] as const) {
    const name = isBinary ? (`${stream}_base64` as const) : stream;
    const encode = isBinary ? base64Of : textOf;
    yield stream === 'stdout' ? '{' : ',';
    yield `"${name}":"`;
    yield* streams[stream] === null ? [escaped(answer[name] ?? '')] : encode(streams[stream]);
    yield '"';
  }
  const { stdout, stderr, stdout_base64: _out, stderr_base64: _err, ...rest } = answer;
  const texts = isBinary ? { stdout, stderr } : {};
  yield `,${JSON.stringify({ ...texts, ...rest }).slice(1)}`;
}

async function* textOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  for await (const chunk of bytes) yield escaped(decoder.decode(chunk, { stream: true }));
  yield escaped(decoder.decode());
}

/** Three bytes become four characters: what is left over begins the next piece. */
async function* base64Of(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let left = Buffer.alloc(0);
  for await (const chunk of bytes) {
    const all = Buffer.concat([left, chunk]);
    const whole = all.length - (all.length % 3);
    yield all.toString('base64', 0, whole);
    left = all.subarray(whole);
  }
  yield left.toString('base64');
}

const escaped = (text: string) => JSON.stringify(text).slice(1, -1);

/** A settled call as the native face tells it. */
function presentCallResult(result: CallResult): CallAnswer {
  return {
    call_id: result.callId,
    outcome: result.outcome,
    code: result.code,
    exit_code: result.exitCode,
    signal: result.signal,
    output: result.output,
    stdout: result.stdout,
    stderr: result.stderr,
    ...(result.base64 && {
      stdout_base64: result.base64.stdout,
      stderr_base64: result.base64.stderr,
    }),
    truncated: {
      stdout: result.truncated.stdout,
      stderr: result.truncated.stderr,
      total_bytes: result.truncated.totalBytes,
    },
    timed_out: result.timedOut,
    oom_killed: result.outOfMemoryKilled,
    duration_ms: result.durationMs,
    waited_ms: result.waitedMs,
    epoch: result.epoch,
    replayed: result.replayed,
  };
}
