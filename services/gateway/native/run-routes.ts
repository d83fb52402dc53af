import type { Scope } from '#src/access/keys.ts';
import { failureCodes } from '#src/failure/codes.ts';
import { Failure } from '#src/failure/failure.ts';
import { verdictOf } from '#src/failure/verdict.ts';
import { itemKey, runId, type RunId } from '#src/model/ids.ts';
import type { FleetEvent } from '#src/ports/event-log.ts';
import { voidItem } from '#src/lifecycle/voids.ts';
import type { LifecycleStore } from '#src/ports/fleet/lifecycle.ts';
import type { GroupReport, ReportStore, RolloutFilter, SandboxCost } from '#src/ports/fleet/reports.ts';
import { RunParams } from '#src/protocol/native/parts.ts';
import {
  RolloutsAnswer,
  RolloutsQuery,
  RunAnswer,
  RunCloseAnswer,
  RunHeartbeatAnswer,
  RunsAnswer,
  VoidItemAnswer,
  VoidItemBody,
} from '#src/protocol/native/runs.ts';
import type { MeanReward } from '#src/reports/mean-reward.ts';
import { idleShare, type WaveReport, wholeRun, type WholeRun } from '#src/reports/run-report.ts';
import { Deadline } from '#src/waiting/deadline.ts';
import { type RetryDeps, retrying } from '#src/waiting/retries.ts';
import { retryPolicies } from '#src/waiting/retry-policies.ts';
import { invalid } from '../http/answer-failure.ts';
import type { App } from '../http/app.ts';
import { grantOf } from '../http/identify.ts';
import { idText } from '../http/taking.ts';
import { presentLine } from './present-rollout.ts';

/** Runs as a whole: read from reports, ended through the lifecycle, which is told; no call of a rollout passes here. */
export type RunRoutesDeps = {
  readonly reports: ReportStore;
  readonly lifecycle: Pick<LifecycleStore, 'heartbeatRun' | 'closeRun' | 'void'>;
  readonly record: (event: FleetEvent) => void;
} & RetryDeps;

/** Rollouts released by one request, each some 20 µs of Redis, for which everybody else waits; the answer says how many are left. */
const closeStep = 200;

/** A request that may have been lost with its gateway delays the end of its rollout: for five seconds, or until Redis is back. */
const inDoubtMs = 30_000;

export function runRoutes(app: App, deps: RunRoutesDeps): void {
  app.get(
    '/runs',
    {
      config: { onlyReads: true },
      schema: { operationId: 'listRuns', summary: "The tenant's runs", response: { 200: RunsAnswer } },
    },
    async (request) => ({ runs: [...(await deps.reports.runs(grantOf(request).tenant))] }),
  );

  app.get(
    '/runs/:run',
    {
      config: { onlyReads: true },
      schema: {
        operationId: 'getRun',
        summary: 'Counts, rewards by group, discards and what they cost each wave',
        params: RunParams,
        response: { 200: RunAnswer },
      },
    },
    async (request) => {
      const run = runOf(request.params.run);
      const { reports } = deps;
      const { tenant, scopes } = grantOf(request);
      const [report, cost] = await Promise.all([wholeRun(reports, tenant, run), reports.cost()]);
      if (report === null) throw unknownRun(run);
      return presentRun(report, cost, rewardFor(scopes));
    },
  );

  app.get(
    '/runs/:run/rollouts',
    {
      config: { onlyReads: true },
      schema: {
        operationId: 'listRollouts',
        summary: 'Which rollouts, and why',
        params: RunParams,
        querystring: RolloutsQuery,
        response: { 200: RolloutsAnswer },
      },
    },
    async (request) => {
      const run = runOf(request.params.run);
      const filter = filterOf(request.query);
      const page = await deps.reports.rollouts(grantOf(request).tenant, run, filter);
      return {
        rollouts: page.rollouts.map((record) => presentLine(record, verdictOf(record))),
        cursor: page.cursor,
      };
    },
  );

  app.post(
    '/runs/:run/heartbeat',
    {
      schema: {
        operationId: 'heartbeatRun',
        summary: "Renew the run's lease",
        params: RunParams,
        response: { 200: RunHeartbeatAnswer },
      },
    },
    async (request) => {
      const run = runOf(request.params.run);
      const open = await deps.lifecycle.heartbeatRun(grantOf(request).tenant, run);
      if (open) return { run, state: 'open' as const };
      throw new Failure(
        'run_closed',
        `the run "${run}" is closed or was never opened; open a rollout in a new run`,
      );
    },
  );

  app.post(
    '/runs/:run/void',
    {
      schema: {
        operationId: 'voidItem',
        summary: 'Void the rollouts of an item, a page at a time',
        params: RunParams,
        body: VoidItemBody,
        response: { 200: VoidItemAnswer },
      },
    },
    async (request) => {
      const run = runOf(request.params.run);
      const { tenant, keyId } = grantOf(request);
      const { item, reason, cursor } = request.body;
      const of = { tenant, run, item: itemKey(item), ...(cursor !== undefined && { cursor }) };
      return { run, item, ...(await voidItem(deps, of, { reason, keyId })) };
    },
  );

  app.delete(
    '/runs/:run',
    {
      schema: {
        operationId: 'closeRun',
        summary: 'Stop a run: release all its rollouts',
        params: RunParams,
        response: { 200: RunCloseAnswer },
      },
    },
    async (request) => {
      const run = runOf(request.params.run);
      const { tenant, keyId } = grantOf(request);
      const close = () => deps.lifecycle.closeRun(tenant, run, closeStep);
      const until = Deadline.in(deps.clock, inDoubtMs);
      const left = await retrying(deps, retryPolicies.request, close, { until });
      deps.record({ kind: 'run_closed', atMs: deps.clock.nowMs(), keyId, tenant, run, left });
      return { run, left };
    },
  );
}

const runOf = (text: string): RunId => runId(idText(text, 'the run name'));

function unknownRun(run: RunId): Failure {
  return new Failure('rollout_unknown', `the fleet has no run "${run}"; GET /v1/runs lists its runs`);
}

function filterOf(query: {
  readonly verdict?: 'scorable' | 'discard';
  readonly code?: string;
  readonly item?: string;
  readonly cursor?: string;
}): RolloutFilter {
  const code = failureCodes.find((known) => known === query.code);
  if (query.code !== undefined && code === undefined) throw invalid(`"${query.code}" is not a failure code`);
  return {
    ...(query.verdict === undefined ? {} : { verdict: query.verdict }),
    ...(code === undefined ? {} : { code }),
    ...(query.item === undefined ? {} : { item: itemKey(query.item) }),
    ...(query.cursor === undefined ? {} : { cursor: query.cursor }),
  };
}

type Reward = Pick<RunAnswer, 'mean' | 'discards' | 'reward_if_zeroed'>;

/**
 * The mean with discards as zeros is for people who compare trainers. A key that plays rollouts does not get it, so that no
 * trainer learns from it.
 */
const rewardFor =
  (scopes: readonly Scope[]) =>
  ({ mean, ifZeroed, discards }: MeanReward): Reward => ({
    mean,
    discards: { ...discards },
    ...(scopes.includes('admin') && { reward_if_zeroed: ifZeroed }),
  });

/** A run as the native face tells it. */
function presentRun(
  { tenant: _tenant, items: _items, groupsLeftOut, sandboxMs, reward, ...report }: WholeRun,
  fleetCost: readonly SandboxCost[],
  presentReward: (reward: MeanReward) => Reward,
): RunAnswer {
  return {
    ...report,
    calls: { ...report.calls },
    blame: { ...report.blame },
    codes: { ...report.codes },
    ...presentReward(reward),
    waves: report.waves.map((wave) => ({ ...presentWave(wave), ...presentReward(wave.reward) })),
    groups: report.groups.map(presentGroup),
    groups_left_out: groupsLeftOut,
    sandbox_seconds: {
      scored: sandboxMs.scored / 1000,
      discarded: sandboxMs.discarded / 1000,
      ungraded: sandboxMs.ungraded / 1000,
    },
    fleet_idle_share: idleShare(fleetCost),
  };
}

const presentGroup = ({ discards: _discards, ...group }: GroupReport) => group;

const presentWave = ({ wave, groups, groupsHurt, rollouts, rolloutsLost, signalLost }: WaveReport) => ({
  wave,
  groups,
  groups_hurt: groupsHurt,
  rollouts,
  rollouts_lost: rolloutsLost,
  signal_lost: signalLost,
});
