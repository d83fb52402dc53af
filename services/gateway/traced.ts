import { AsyncLocalStorage } from 'node:async_hooks';
import { blameOf } from '#src/failure/codes.ts';
import { asFailure } from '#src/failure/failure.ts';
import type { RolloutId } from '#src/model/ids.ts';
import { rolloutKey } from '#src/model/rollout.ts';
import type { CallStore } from '#src/ports/fleet/calls.ts';
import type { ClaimStore } from '#src/ports/fleet/claims.ts';
import type { GradeStore } from '#src/ports/fleet/grades.ts';
import type { Judge } from '#src/ports/judge.ts';
import { LinkError, type SandboxLink, type SandboxTarget } from '#src/ports/sandbox-link.ts';
import type { Attributes, Span, SpanContext, SpanName, Tracer } from '#src/ports/tracer.ts';
import type { CallAnswer } from '#src/protocol/sandboxd/wire.ts';
import { writeTraceparent } from '#src/tracing/names.ts';
import { tracedLifecycle } from '#src/tracing/verdict-spans.ts';
import type { GatewayWorld } from './core-wiring.ts';
import type { CallResult, Caller, GatewayCore } from './core-interface.ts';
import { type Part, RequestSpans } from './request-spans.ts';

/**
 * Spans of a gateway, told from its two edges: what callers ask of the core, and what the core asks of the world. The core
 * itself knows nothing of it. Which request a question to the world is asked for is known by the asynchronous context that
 * it is asked in; work that several requests join belongs to the one that began it.
 *
 *   tool_call | attach | grade     plan, obtain_sandbox, bind, setup, exchange ▶ command, judge, fleet_state
 */
export type Tracing = {
  core(core: GatewayCore): GatewayCore;
  world(world: GatewayWorld): GatewayWorld;
};

type Here = { readonly request: RequestSpans; readonly asking: SpanContext | null };

/** One for a process: the line to sandboxd reads here in which span it is asked. */
const here = new AsyncLocalStorage<Here>();

/** The header `traceparent` of a question to sandboxd; null where it is no part of a request that is traced. */
export function traceparentHere(): string | null {
  const asking = here.getStore()?.asking ?? null;
  return asking === null ? null : writeTraceparent(asking);
}

/** With a tracer that is off everything stays as it is. */
export function createTracing(tracer: Tracer): Tracing {
  if (!tracer.on) return { core: (core) => core, world: (world) => world };
  return {
    core: (core) => tracedCore(core, tracer),
    world: (world) => ({
      ...world,
      claims: tracedClaims(world.claims),
      calls: tracedCalls(world.calls),
      grades: tracedGrades(world.grades),
      lifecycle: tracedLifecycle(world.lifecycle, tracer),
      link: tracedLink(world.link),
      judge: tracedJudge(world.judge),
    }),
  };
}

function tracedCore(core: GatewayCore, tracer: Tracer): GatewayCore {
  /** One request of a caller, from its arrival to its answer. */
  const serve = async <Result>(
    name: SpanName,
    { caller, rollout, ...ids }: RequestIds,
    work: () => Promise<Result>,
    told: (result: Result) => Attributes,
  ): Promise<Result> => {
    const request = new RequestSpans(tracer, name, caller.span, {
      'corral.face': caller.face,
      'corral.tenant': caller.tenant,
      'corral.run': caller.run,
      'corral.rollout': rollout,
      ...(ids.call !== undefined && { 'corral.call': ids.call }),
    });
    try {
      const result = await here.run({ request, asking: null }, work);
      request.answered(told(result));
      return result;
    } catch (thrown) {
      request.failed(asFailure(thrown));
      throw thrown;
    }
  };
  return {
    ...core,
    toolCall: (caller, asked) =>
      serve('tool_call', ofCall(caller, asked), () => core.toolCall(caller, asked), outcomeOf),
    exec: (caller, asked) =>
      serve('tool_call', ofCall(caller, asked), () => core.exec(caller, asked), outcomeOf),
    begin: (caller, asked) =>
      serve(
        'tool_call',
        ofCall(caller, asked),
        () => core.begin(caller, asked),
        () => ({}),
      ),
    attach: (caller, rollout, call, waitMs) =>
      serve(
        'attach',
        ofCall(caller, { rollout, call }),
        () => core.attach(caller, rollout, call, waitMs),
        outcomeOf,
      ),
    grade: (caller, asked) =>
      serve(
        'grade',
        { caller, rollout: asked.rollout.rollout },
        () => core.grade(caller, asked),
        ({ replayed }) => (replayed ? { 'corral.replayed': true } : {}),
      ),
    finish: (caller, asked, score, waitMs) =>
      serve(
        'grade',
        { caller, rollout: asked.rollout },
        () => core.finish(caller, asked, score, waitMs),
        () => ({}),
      ),
  };
}

type CallIds = { readonly rollout: { readonly rollout: RolloutId }; readonly call: string };
type RequestIds = { readonly caller: Caller; readonly rollout: RolloutId; readonly call?: string };

function ofCall(caller: Caller, { rollout, call }: CallIds): RequestIds {
  return { caller, rollout: rollout.rollout, call };
}

/** What the model did wrong is an answer, and no failure of the request. */
function outcomeOf({ outcome, code, replayed }: CallResult): Attributes {
  return {
    'corral.outcome': outcome,
    ...(replayed && { 'corral.replayed': true }),
    ...(code !== null && { 'corral.code': code, 'corral.blame': blameOf(code) }),
  };
}

function tracedClaims(claims: ClaimStore): ClaimStore {
  return {
    ...claims,
    find: async (owner, attempt) => {
      const record = await watched('find', () => claims.find(owner, attempt));
      if (record !== null) here.getStore()?.request.of(record.key);
      return record;
    },
    claim: async (claim) => {
      const request = here.getStore()?.request;
      if (request === undefined) return claims.claim(claim);
      request.planned(rolloutKey(claim.owner));
      const sinceMs = request.nowMs();
      const reply = await watched('claim', () => claims.claim(claim));
      if (claim.recordOnly !== true) request.stands(reply, sinceMs);
      return reply;
    },
    granted: (waiting, grant) => {
      const rollout = claims.granted(waiting, grant);
      const request = here.getStore()?.request;
      if (rollout !== null) request?.stands({ kind: 'held', rollout }, request.nowMs());
      return rollout;
    },
  };
}

function tracedCalls(calls: CallStore): CallStore {
  return {
    ...calls,
    admit: async (asked) => {
      const request = here.getStore()?.request;
      const own = request?.of(asked.key);
      const reply = await watched('admit', () => calls.admit(asked));
      // Only tools that the environment has come so far: another name would be the model's own words.
      const rollout = 'rollout' in reply ? reply.rollout : null;
      own?.set({
        'corral.tool': asked.tool,
        ...(rollout !== null && { 'corral.environment': rollout.environment }),
      });
      return reply;
    },
    settle: (settlement) => watched('settle', () => calls.settle(settlement)),
  };
}

function tracedGrades(grades: GradeStore): GradeStore {
  return {
    ...grades,
    begin: (...asked) => watched('begin_grade', () => grades.begin(...asked)),
    score: (...asked) => watched('score', () => grades.score(...asked)),
  };
}

/** A script takes well under a millisecond: one that takes so long is where a call's time went. */
const slowScriptMs = 10;

async function watched<Reply>(script: string, work: () => Promise<Reply>): Promise<Reply> {
  const request = here.getStore()?.request;
  if (request === undefined) return work();
  const startMs = request.nowMs();
  const tell = (endMs: number, failed: Pick<Part, 'failure'> = {}) =>
    request.tell({
      name: 'fleet_state',
      startMs,
      endMs,
      attributes: { 'corral.script': script },
      ...failed,
    });
  try {
    const reply = await work();
    const endMs = request.nowMs();
    if (endMs - startMs > slowScriptMs) tell(endMs);
    return reply;
  } catch (thrown) {
    tell(request.nowMs(), { failure: asFailure(thrown) });
    throw thrown;
  }
}

function tracedLink(link: SandboxLink): SandboxLink {
  return {
    ...link,
    bind: (target, request, signal) => asking('bind', target, () => link.bind(target, request, signal)),
    call: (target, call, request, waitMs, signal) =>
      asking(call.startsWith(setupIds) ? 'setup' : 'exchange', target, () =>
        link.call(target, call, request, waitMs, signal),
      ),
    attach: (target, call, waitMs, signal) =>
      asking('exchange', target, () => link.attach(target, call, waitMs, signal)),
  };
}

/** As `claiming/prepare-sandbox.ts` names them; no id of a caller has a space. */
const setupIds = 'corral setup ';

/** Whose doing it is that sandboxd gave no answer is decided later, and said where it is decided. */
async function asking<Answer>(
  name: SpanName,
  { sandbox }: SandboxTarget,
  work: () => Promise<Answer>,
): Promise<Answer> {
  const now = here.getStore();
  if (now === undefined) return work();
  const span = now.request.start(name, { attributes: { 'corral.sandbox': sandbox } });
  try {
    const answer = await here.run({ ...now, asking: span.context }, work);
    if (isCallAnswer(answer)) commandSpan(now.request, span, answer);
    return answer;
  } catch (thrown) {
    span.broke(thrown instanceof LinkError ? thrown.trouble.kind : asFailure(thrown).code);
    throw thrown;
  } finally {
    span.end();
  }
}

const isCallAnswer = (answer: unknown): answer is CallAnswer =>
  typeof answer === 'object' && answer !== null && 'ending' in answer;

/** What is a span at all: nothing ran where it was not started. */
const endings = ['exited', 'signalled', 'timed_out', 'cancelled'] as const;

/** It cannot have begun before its request did, nor end later than now, whatever a sandbox says. */
function commandSpan(request: RequestSpans, exchange: Span, { ending, evidence }: CallAnswer): void {
  const how = endings.find((one) => one === ending.kind);
  if (how === undefined || !Number.isFinite(evidence.durationMs)) return;
  const endMs = request.nowMs();
  const tookMs = Math.max(0, Math.min(evidence.durationMs, endMs - request.startMs));
  const attributes = { 'corral.ending': how };
  request.start('command', { parent: exchange.context, startMs: endMs - tookMs, attributes }).end(endMs);
}

function tracedJudge(judge: Judge): Judge {
  return {
    score: async (...asked) => {
      const span = here.getStore()?.request.start('judge');
      try {
        const judged = await judge.score(...asked);
        span?.set({ 'corral.judged': judged.kind });
        return judged;
      } catch (thrown) {
        const { code, blame } = asFailure(thrown);
        span?.fail(code, blame);
        throw thrown;
      } finally {
        span?.end();
      }
    },
  };
}
