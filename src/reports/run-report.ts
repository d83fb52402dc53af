import type { RunId, TenantId } from '../model/ids.ts';
import type { GroupReport, ReportStore, RunReport } from '../ports/fleet/reports.ts';
import { LostSignal } from './lost-signal.ts';
import type { WaveReport } from './lost-signal.ts';

/** A run with its groups. */
export type WholeRun = RunReport & {
  readonly groups: readonly GroupReport[];
  /** Of the oldest items. */
  readonly groupsLeftOut: number;
  /** Of all groups. */
  readonly waves: readonly WaveReport[];
};

/** At most 800 groups: some milliseconds of Redis, between which everybody else is served. */
const itemsAtOnce = 25;
/** 1.3 MB of JSON, which is some ten milliseconds of a process. A run has 64,000 at most. */
export const mostGroups = 10_000;

/** Reads a run some items at a time; null: nobody knows it. Its sums are of all of it, its groups the newest. */
export async function wholeRun(
  reports: Pick<ReportStore, 'run' | 'groups'>,
  tenant: TenantId,
  run: RunId,
): Promise<WholeRun | null> {
  const report = await reports.run(tenant, run);
  if (report === null) return null;
  const signal = new LostSignal();
  const groups: GroupReport[] = [];
  let groupsLeftOut = 0;
  for (let first = 0; first < report.items.length; first += itemsAtOnce) {
    const some = await reports.groups(tenant, run, report.items.slice(first, first + itemsAtOnce));
    for (const group of some) signal.add(group);
    groups.push(...some);
    groupsLeftOut += groups.splice(0, groups.length - mostGroups).length;
  }
  return { ...report, groups, groupsLeftOut, waves: signal.waves };
}
