import type { Prewarm } from '#src/claiming/prewarm.ts';
import { itemKey } from '#src/model/ids.ts';
import { FinishBody, GradeAnswer, GradeBody } from '#src/protocol/native/calls.ts';
import { RunningAnswer, AttemptQuery, RolloutParams, WaitQuery } from '#src/protocol/native/parts.ts';
import { OpenBody, RolloutAnswer, VerdictStoryAnswer, VoidBody } from '#src/protocol/native/rollouts.ts';
import { RefuseBody } from '#src/protocol/native/requirements.ts';
import { PrewarmAnswer, PrewarmBody } from '#src/protocol/native/runs.ts';
import type { GatewayCore } from '../core-interface.ts';
import { invalid } from '../http/answer-failure.ts';
import type { App } from '../http/app.ts';
import { callerOf } from '../http/identify.ts';
import {
  environmentRef,
  takeItem,
  takeRequirementName,
  takeRequirements,
  takeRollout,
  takeRolloutRef,
  takeSample,
  waitMsOf,
  writtenSample,
} from '../http/taking.ts';
import { presentRollout, presentVerdict } from './present-rollout.ts';

/** Rollouts from opening to their end. Everything but grading is idempotent; a stored score is never recomputed. */
export function rolloutRoutes(app: App, core: GatewayCore): void {
  const one = { params: RolloutParams, querystring: AttemptQuery, response: { 200: RolloutAnswer } };

  app.post(
    '/rollouts',
    {
      schema: {
        operationId: 'openRollout',
        summary: 'Open a rollout',
        body: OpenBody,
        response: { 200: RolloutAnswer, 201: RolloutAnswer },
      },
    },
    async (request, reply) => {
      const { body } = request;
      if (body.sandbox !== undefined) throw noOverrides();
      const { view, created } = await core.open(callerOf(request, 'native', body.run), {
        rollout: takeRollout(request, body.rollout_id, 'rollout_id'),
        attempt: body.attempt ?? 1,
        environment: environmentRef(body.environment),
        item: takeItem(body.item),
        group: body.group === undefined ? null : itemKey(body.group),
        tags: { step: body.step ?? null, labels: body.labels ?? [] },
        requirements: body.requires === undefined ? null : takeRequirements(body.requires),
      });
      return reply.code(created ? 201 : 200).send(presentRollout(view));
    },
  );

  app.get(
    '/rollouts/:id',
    {
      config: { onlyReads: true },
      schema: { ...one, operationId: 'getRollout', summary: 'State, verdict and calls' },
    },
    async (request) => {
      const rollout = takeRolloutRef(request, request.params.id, request.query);
      return presentRollout(await core.view(callerOf(request, 'native'), rollout));
    },
  );

  app.get(
    '/rollouts/:id/verdict',
    {
      config: { onlyReads: true },
      schema: {
        operationId: 'getVerdict',
        summary: 'What the trainer may do with it, and why not',
        params: RolloutParams,
        querystring: AttemptQuery,
        response: { 200: VerdictStoryAnswer },
      },
    },
    async (request) => {
      const rollout = takeRolloutRef(request, request.params.id, request.query);
      return presentVerdict(await core.view(callerOf(request, 'native'), rollout));
    },
  );

  app.post(
    '/rollouts/:id/heartbeat',
    { schema: { ...one, operationId: 'heartbeatRollout', summary: "Renew the rollout's lease" } },
    async (request) => {
      const rollout = takeRolloutRef(request, request.params.id, request.query);
      return presentRollout(await core.heartbeat(callerOf(request, 'native'), rollout));
    },
  );

  app.post(
    '/rollouts/:id/finish',
    {
      schema: {
        operationId: 'finishRollout',
        summary:
          'Finish: release the sandbox; with the score, where the environment leaves grading to the trainer',
        params: RolloutParams,
        querystring: WaitQuery,
        body: FinishBody,
        response: { 200: RolloutAnswer, 202: RunningAnswer },
      },
    },
    async (request) => {
      const rollout = takeRolloutRef(request, request.params.id, request.query);
      const caller = callerOf(request, 'native');
      const score = request.body?.score;
      if (score === undefined) return presentRollout(await core.close(caller, rollout, 'finished'));
      const waitMs = waitMsOf(request.query.wait_s);
      return presentRollout(await core.finish(caller, rollout, score, waitMs));
    },
  );

  app.post(
    '/rollouts/:id/refuse',
    {
      schema: {
        ...one,
        operationId: 'refuseRollout',
        summary: 'End a rollout whose task cannot run here: discarded, blame caller',
        body: RefuseBody,
      },
    },
    async (request) => {
      const rollout = takeRolloutRef(request, request.params.id, request.query);
      const { requirement, ...unmet } = request.body;
      const named = takeRequirementName(requirement);
      return presentRollout(
        await core.refuse(callerOf(request, 'native'), rollout, { requirement: named, ...unmet }),
      );
    },
  );

  app.post(
    '/rollouts/:id/void',
    {
      schema: {
        ...one,
        operationId: 'voidRollout',
        summary: 'Void a rollout: discarded if it has no score; a score stays, and reports leave it out',
        body: VoidBody,
      },
    },
    async (request) => {
      const rollout = takeRolloutRef(request, request.params.id, request.query);
      return presentRollout(await core.void(callerOf(request, 'native'), rollout, request.body.reason));
    },
  );

  app.delete(
    '/rollouts/:id',
    {
      schema: {
        ...one,
        operationId: 'deleteRollout',
        summary: 'Delete: stop what runs and release the sandbox',
      },
    },
    async (request) => {
      const rollout = takeRolloutRef(request, request.params.id, request.query);
      return presentRollout(await core.close(callerOf(request, 'native'), rollout, 'deleted'));
    },
  );

  app.post(
    '/rollouts/:id/grade',
    {
      schema: {
        operationId: 'gradeRollout',
        summary: "Run the environment's grader",
        params: RolloutParams,
        querystring: WaitQuery,
        body: GradeBody,
        response: { 200: GradeAnswer, 202: RunningAnswer },
      },
      config: { written: writtenSample },
    },
    async (request) => {
      const rollout = takeRolloutRef(request, request.params.id, request.query);
      const { score, detail, replayed } = await core.grade(callerOf(request, 'native'), {
        rollout,
        open: null,
        sample: takeSample(request) ?? '{}',
        waitMs: waitMsOf(request.query.wait_s),
      });
      return { score, detail: { ...detail }, replayed };
    },
  );
}

const noOverrides = () =>
  invalid('environments allow no overrides of their sandbox: leave "sandbox" out, or change the environment');

/** A burst that is announced finds its sandboxes ready. */
export function prewarmRoutes(app: App, core: GatewayCore): void {
  app.post(
    '/prewarm',
    {
      schema: {
        operationId: 'prewarm',
        summary: 'Announce a burst',
        body: PrewarmBody,
        response: { 202: PrewarmAnswer },
      },
    },
    async (request, reply) => {
      const { body } = request;
      const { environment, templates, count, untilMs } = await core.prewarm(
        callerOf(request, 'native', body.run),
        {
          environment: environmentRef(body.environment),
          rollouts: rolloutsOf(body),
          neededAtMs: neededAtMsOf(body.needed_at),
          requirements: body.requires === undefined ? null : takeRequirements(body.requires),
        },
      );
      return reply.code(202).send({
        environment: environment.name,
        version: environment.version,
        templates: [...templates],
        count,
        until: new Date(untilMs).toISOString(),
      });
    },
  );
}

function rolloutsOf({ count, items }: PrewarmBody): Prewarm['rollouts'] {
  if (count !== undefined && items === undefined) return count;
  if (items !== undefined && count === undefined) {
    return items.map((each) => ({ item: takeItem(each.item), count: each.count }));
  }
  throw invalid('say how many rollouts will come: either "count", or "items" with a count each');
}

function neededAtMsOf(text: string | undefined): number | null {
  if (text === undefined) return null;
  const atMs = Date.parse(text);
  if (Number.isNaN(atMs)) throw invalid('needed_at is no time such as 2026-11-21T12:00:00Z');
  return atMs;
}
