import { type AttachDeps, attachToCall, outputOf, recordedCall } from '#src/calls/attach.ts';
import { cancelCall } from '#src/calls/cancel.ts';
import { followCall, type FollowDeps } from '#src/calls/follow-call.ts';
import { giveStdin, type StdinDeps } from '#src/calls/give-stdin.ts';
import { type CommandBounds, planExec, planToolCall } from '#src/calls/plan-call.ts';
import { beginCall, runCall, type RunCallDeps } from '#src/calls/run-call.ts';
import { type ScreenDeps, showScreen } from '#src/calls/show-screen.ts';
import { getFile, putFile, type TransferDeps } from '#src/calls/transfer.ts';
import type { Work } from '#src/calls/work.ts';
import {
  resolveRollout,
  type ResolveDeps,
  type ResolvedRollout,
  resolveRecord,
  findRollout,
  type OpenDeps,
  openRollout,
} from '#src/claiming/resolve-rollout.ts';
import { targetOf } from '#src/claiming/target.ts';
import { prewarm, type PrewarmDeps } from '#src/claiming/prewarm.ts';
import { type GradeDeps, gradeRollout } from '#src/grading/grade-rollout.ts';
import { planBrought, stopWhatRuns, storeBrought, planGrade } from '#src/grading/plan-grade.ts';
import { voidRollout } from '#src/lifecycle/voids.ts';
import { verdictOf } from '#src/failure/verdict.ts';
import type { Face } from '#src/model/face.ts';
import type { CallId } from '#src/model/ids.ts';
import type { EnvironmentCatalog } from '#src/model/environment.ts';
import type { FleetEvent } from '#src/ports/event-log.ts';
import type { ControlKey, ControlStore } from '#src/ports/fleet/controls.ts';
import type { LifecycleStore } from '#src/ports/fleet/lifecycle.ts';
import type { RolloutRecord } from '#src/ports/fleet/records.ts';
import type { WorkMetrics } from '#src/ports/gateway-metrics.ts';
import { Failure } from '#src/failure/failure.ts';
import type { OutputStream } from '#src/protocol/sandboxd/wire.ts';
import { isOver } from '#src/model/rollout.ts';
import { Deadline, inTime } from '#src/waiting/deadline.ts';
import { retrying } from '#src/waiting/retries.ts';
import { retryPolicies } from '#src/waiting/retry-policies.ts';
import type {
  Caller,
  CallResult,
  ControlOf,
  EnvironmentRef,
  ExecRequest,
  GatewayCore,
  GradeRequest,
  OpenRequest,
  RolloutRef,
  RolloutView,
  ToolCallRequest,
} from './core-interface.ts';

export type GatewayCoreDeps = {
  readonly resolve: ResolveDeps;
  readonly open: OpenDeps;
  readonly prewarm: PrewarmDeps;
  readonly calls: RunCallDeps &
    TransferDeps &
    AttachDeps &
    FollowDeps &
    ScreenDeps &
    StdinDeps & { readonly timings: CommandBounds };
  readonly grading: GradeDeps;
  readonly lifecycle: LifecycleStore;
  readonly controls: ControlStore;
  readonly catalog: EnvironmentCatalog;
  readonly record: (event: FleetEvent) => void;
  readonly work: Pick<WorkMetrics, 'replayed'>;
};

/** Beyond a request's time: what ends with it by itself says more of why, and has to ask fleet state for it. */
const tellingMs = 3_000;

/**
 * Joins the features for all faces: each method finds the rollout, lets one feature work, and shows the result. Files are not
 * held as calls are: a body can be read once, so it is the client who begins again.
 */
export function gatewayCore(deps: GatewayCoreDeps): GatewayCore {
  const { clock } = deps.calls;
  const deadlineIn = (waitMs: number) => Deadline.in(clock, waitMs);
  /**
   * What a repeat may fix is tried again in here until the request's time is up: on the RFT face three quick refusals
   * lose the rollout. Calls and grades may be repeated, because each is known by its id. Whatever it waits for then, a
   * setup for instance, the request is answered; what it has begun goes on, and a repeat joins it.
   */
  const held = async <Result>(deadline: Deadline, step: () => Promise<Result>): Promise<Result> => {
    const trying = retrying(deps.calls, retryPolicies.request, step, { until: deadline });
    const result = await inTime(clock, deadline.later(tellingMs), trying);
    if (result !== 'late') return result;
    throw new Failure(
      'still_running',
      'the time of this request is over; send it again to continue to wait',
      {
        admitted: 'unknown',
      },
    );
  };
  const find = (caller: Caller, ref: RolloutRef) => findRollout(deps.resolve.claims, caller, ref);

  async function run(
    face: Face,
    rollout: ResolvedRollout,
    work: Work,
    deadline: Deadline,
  ): Promise<CallResult> {
    const result = await held(deadline, () => runCall(deps.calls, work, deadline));
    // Only now is it sure that the rollout exists, in this environment.
    deps.resolve.rolloutCache.remember(rollout.key, rollout);
    if (result.replayed) deps.work.replayed(face);
    return result;
  }

  async function attaching(caller: Caller, ref: RolloutRef, call: CallId, deadline: Deadline) {
    const record = await held(deadline, () => find(caller, ref));
    const rollout = await held(deadline, () => resolveRecord(deps.resolve, caller, record));
    const recorded = await held(deadline, () => recordedCall(deps.calls, record.key, call));
    const result = held(deadline, () => attachToCall(deps.calls, rollout, record, recorded, deadline));
    result.catch(() => undefined);
    return { record, result };
  }

  async function viewOf(record: RolloutRecord, ahead: number | null = null): Promise<RolloutView> {
    return { record, verdict: verdictOf(record), calls: await deps.calls.calls.list(record.key), ahead };
  }

  async function close(
    caller: Caller,
    ref: RolloutRef,
    by: 'finished' | 'deleted',
    deadline: Deadline,
  ): Promise<RolloutView> {
    const record = await find(caller, ref);
    deps.resolve.rolloutCache.forget(record.key);
    const end = () => deps.lifecycle.close(record.key, by);
    const closed = await retrying(deps.calls, retryPolicies.request, end, { until: deadline });
    const { key, environment, version } = record;
    const of = { key, keyId: caller.keyId, environment, version };
    if (!isOver(record.state)) deps.record({ kind: 'rollout_closed', atMs: clock.nowMs(), ...of, by });
    return viewOf(closed ?? record);
  }

  async function controlKeyOf(caller: Caller, { environment, task }: ControlOf): Promise<ControlKey> {
    const { version } = await deps.resolve.environments.forRun(caller.tenant, caller.run, environment);
    return { tenant: caller.tenant, version, task };
  }

  return {
    async open(caller: Caller, request: OpenRequest) {
      const opened = await openRollout(deps.open, caller, request);
      return { view: await viewOf(opened.rollout, opened.ahead), created: opened.created };
    },
    async prewarm(caller, request) {
      const prewarmed = await prewarm(deps.prewarm, caller, request);
      const { tenant, run, keyId } = caller;
      const { environment, templates, count, untilMs } = prewarmed;
      const { name, version } = environment;
      const announced = { environment: name, version, templates: templates.length, count, untilMs };
      deps.record({ kind: 'prewarm_announced', atMs: clock.nowMs(), keyId, tenant, run, ...announced });
      return prewarmed;
    },
    async toolCall(caller: Caller, request: ToolCallRequest) {
      const deadline = deadlineIn(request.waitMs);
      const rollout = await held(deadline, () =>
        resolveRollout(deps.resolve, caller, request.rollout, request.open),
      );
      return run(caller.face, rollout, planToolCall(rollout, request, deps.calls.timings), deadline);
    },
    async exec(caller: Caller, request: ExecRequest) {
      const { rollout: ref, waitMs, ...exec } = request;
      const deadline = deadlineIn(waitMs);
      const rollout = await held(deadline, () => resolveRollout(deps.resolve, caller, ref, null));
      return run(caller.face, rollout, planExec(rollout, exec, deps.calls.timings), deadline);
    },
    async begin(caller, request) {
      const { rollout: ref, waitMs, ...exec } = request;
      const deadline = deadlineIn(waitMs);
      const rollout = await held(deadline, () => resolveRollout(deps.resolve, caller, ref, null));
      const work = planExec(rollout, exec, deps.calls.timings);
      await held(deadline, () => beginCall(deps.calls, work, deadline));
      deps.resolve.rolloutCache.remember(rollout.key, rollout);
    },
    async attach(caller, ref, call, waitMs) {
      return (await attaching(caller, ref, call, deadlineIn(waitMs))).result;
    },
    async follow(caller, ref, call, { from, waitMs, gone }) {
      const deadline = deadlineIn(waitMs);
      const { record, result } = await attaching(caller, ref, call, deadline);
      const target = record.epoch === null ? null : targetOf(record);
      const open = (stream: OutputStream) => outputOf(deps.calls, record, call, stream);
      return followCall(deps.calls, { target, tenant: caller.tenant, call, from, result, open }, gone);
    },
    async giveStdin(caller, ref, call, piece, waitMs) {
      const deadline = deadlineIn(waitMs);
      const record = await held(deadline, () => find(caller, ref));
      return giveStdin(deps.calls, record, call, piece, deadline);
    },
    screen: async (caller, ref, terminal) => showScreen(deps.calls, await find(caller, ref), terminal),
    async output(caller, ref, call, stream) {
      return outputOf(deps.calls, await find(caller, ref), call, stream);
    },
    async cancel(caller, ref, call) {
      const record = await find(caller, ref);
      return cancelCall(deps.calls, await resolveRecord(deps.resolve, caller, record), record, call);
    },
    async grade(caller: Caller, request: GradeRequest) {
      const deadline = deadlineIn(request.waitMs);
      const work = await held(deadline, () => planGrade(deps.resolve, caller, request));
      const grade = await held(deadline, () => gradeRollout(deps.grading, work, deadline));
      if (grade.replayed) deps.work.replayed(caller.face);
      return grade;
    },
    async putFile(caller, ref, to, body, setup) {
      return putFile(deps.calls, await resolveRollout(deps.resolve, caller, ref, null), to, body, setup);
    },
    async getFile(caller, ref, from) {
      return getFile(deps.calls, await resolveRollout(deps.resolve, caller, ref, null), from);
    },
    async view(caller, ref) {
      const record = await find(caller, ref);
      const place = record.state === 'waiting' ? await deps.calls.claims.place(record.key) : null;
      return { ...(await viewOf(record)), ...(place !== null && { place }) };
    },
    async heartbeat(caller, ref) {
      const record = await find(caller, ref);
      return viewOf((await deps.lifecycle.heartbeat(record.key)) ?? record);
    },
    async finish(caller, ref, score, waitMs) {
      const deadline = deadlineIn(waitMs);
      const work = await held(deadline, () => planBrought(deps.resolve, caller, ref, score));
      await stopWhatRuns(deps.calls, await held(deadline, () => find(caller, ref)));
      const { replayed } = await held(deadline, () => storeBrought(deps.grading, work, deadline));
      if (replayed) deps.work.replayed(caller.face);
      return close(caller, ref, 'finished', deadline);
    },
    async refuse(caller, ref, unmet) {
      const record = await find(caller, ref);
      deps.resolve.rolloutCache.forget(record.key);
      const refused = await deps.lifecycle.refuse(record.key, unmet);
      return viewOf(refused ?? (await find(caller, ref)));
    },
    async void(caller, ref, reason) {
      const { key } = await find(caller, ref);
      deps.resolve.rolloutCache.forget(key);
      await voidRollout({ ...deps, clock }, key, { reason, keyId: caller.keyId });
      return viewOf(await find(caller, ref));
    },
    async askControl(caller, of, { leaseMs, again }) {
      return deps.controls.ask(await controlKeyOf(caller, of), of.holder, leaseMs, again);
    },
    async concludeControl(caller, of, found) {
      return deps.controls.conclude(await controlKeyOf(caller, of), of.holder, found);
    },
    close: (caller, ref, by, waitMs = 0) => close(caller, ref, by, deadlineIn(waitMs)),
    environments: () => deps.catalog.all(),
    environment: (ref: EnvironmentRef) => deps.resolve.environments.named(ref),
  };
}
