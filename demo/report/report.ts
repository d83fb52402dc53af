import { quantile } from '#cli/drawing/quantile.ts';
import type { FleetRollout, FleetRun } from '../fleet/fleet-view.ts';
import type { Kill } from '../fleet/killer.ts';
import { type Group, groupsOf } from '../trainer/groups.ts';
import type { CallRecord, RolloutRecord } from '../trainer/record.ts';

/** Everything a demo run left behind, from which every table and plot is made. */
export type Findings = {
  readonly run: string;
  readonly seed: string;
  readonly records: readonly RolloutRecord[];
  readonly kills: readonly Kill[];
  readonly fleetRun: FleetRun;
  readonly fleetRollouts: readonly FleetRollout[];
};

/** `out/demo/report.json`. Times in milliseconds, sizes in bytes. */
export type Report = {
  readonly run: string;
  readonly seed: string;
  /** Rollouts that the trainer started and that came to an end. */
  readonly rollouts: number;
  readonly scorable: number;
  readonly discarded: readonly {
    readonly rollout_id: string;
    readonly task: string;
    readonly code: string;
    readonly cause: string | null;
    readonly at: string;
  }[];
  readonly killed: readonly {
    readonly rollout_id: string;
    readonly sandbox: string;
    readonly at_ms: number;
  }[];
  readonly groups: readonly (Group & { readonly discarded: number })[];
  readonly starts: { readonly warm: Starts; readonly cold: Starts };
  readonly calls: CallFigures;
  readonly veto: { readonly with: readonly Group[]; readonly without: readonly Group[] };
  readonly fleet: FleetRun;
  readonly duration_ms: number;
};

export type Starts = {
  readonly count: number;
  readonly p50_ms: number | null;
  readonly p99_ms: number | null;
};

export type CallFigures = {
  readonly count: number;
  readonly by_tool: Readonly<Record<string, number>>;
  readonly retries: number;
  readonly leaked: number;
  readonly per_rollout: { readonly p50: number | null; readonly max: number | null };
  readonly latency_ms: { readonly p50: number | null; readonly p99: number | null };
  readonly output_bytes: {
    readonly p50: number | null;
    readonly p99: number | null;
    readonly max: number | null;
  };
};

export function reportOf(findings: Findings): Report {
  const { records, kills, fleetRollouts } = findings;
  return {
    run: findings.run,
    seed: findings.seed,
    rollouts: records.length,
    scorable: records.filter((record) => record.ending.kind === 'scored').length,
    discarded: records.flatMap(discardLine),
    killed: kills.map(({ rollout, sandbox, atMs }) => ({
      rollout_id: rollout,
      sandbox,
      at_ms: Math.round(atMs),
    })),
    groups: groupsOf(records, 'with').map((group) => withDiscards(group, records)),
    starts: { warm: startsOf(fleetRollouts, 'warm'), cold: startsOf(fleetRollouts, 'cold') },
    calls: callFigures(records),
    veto: { with: groupsOf(records, 'with'), without: groupsOf(records, 'without') },
    fleet: findings.fleetRun,
    duration_ms: Math.round(Math.max(0, ...records.map((record) => record.endedMs))),
  };
}

function withDiscards(group: Group, records: readonly RolloutRecord[]) {
  const copies = records.filter((record) => record.task === group.task).length;
  return { ...group, discarded: copies - group.n };
}

function discardLine(record: RolloutRecord): Report['discarded'] {
  if (record.ending.kind === 'scored') return [];
  const { code, cause, at } = record.ending;
  return [{ rollout_id: record.rollout, task: record.task, code, cause, at }];
}

function startsOf(rollouts: readonly FleetRollout[], type: 'warm' | 'cold'): Starts {
  const times = startTimes(rollouts, type);
  return { count: times.length, p50_ms: quantile(times, 0.5), p99_ms: quantile(times, 0.99) };
}

/** How long each rollout of one launch type waited from its first call to its sandbox. */
export function startTimes(rollouts: readonly FleetRollout[], type: 'warm' | 'cold'): readonly number[] {
  return rollouts.flatMap((one) => (one.launchType === type && one.startMs !== null ? [one.startMs] : []));
}

function callFigures(records: readonly RolloutRecord[]): CallFigures {
  const calls = records.flatMap((record) => record.calls);
  const perRollout = records.map((record) => record.calls.length);
  const latencies = calls.map((call) => Math.round(call.endedMs - call.startedMs));
  const bytes = calls.filter((call) => call.status === 200).map((call) => call.outputBytes);
  return {
    count: calls.length,
    by_tool: countByTool(calls),
    retries: calls.reduce((sum, call) => sum + call.retries, 0),
    leaked: calls.filter((call) => call.leaked).length,
    per_rollout: { p50: quantile(perRollout, 0.5), max: quantile(perRollout, 1) },
    latency_ms: { p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99) },
    output_bytes: { p50: quantile(bytes, 0.5), p99: quantile(bytes, 0.99), max: quantile(bytes, 1) },
  };
}

export function countByTool(calls: readonly CallRecord[]): Readonly<Record<string, number>> {
  const groups = Map.groupBy(calls, (call) => call.tool);
  return Object.fromEntries([...groups].map(([tool, some]) => [tool, some.length]));
}

/** The groups whose mean a fabricated zero would have moved. */
export function hurtGroups(
  report: Report,
): readonly { readonly task: string; readonly kept: Group; readonly zeroed: Group }[] {
  return report.veto.with.flatMap((kept) => {
    const zeroed = report.veto.without.find((group) => group.task === kept.task);
    return zeroed === undefined || zeroed.n === kept.n ? [] : [{ task: kept.task, kept, zeroed }];
  });
}
