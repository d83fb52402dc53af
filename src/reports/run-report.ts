import type { RunId, TenantId } from '../model/ids.ts';
import { type GroupRewards, type MeanReward, RewardSum } from './mean-reward.ts';
import type { GroupReport, ReportStore, RunReport, SandboxCost } from '../ports/fleet/reports.ts';

/** A run with its groups, and what discards have cost it. */
export type WholeRun = RunReport & {
  readonly groups: readonly GroupReport[];
  /** Of the oldest items. */
  readonly groupsLeftOut: number;
  /** Of all groups. */
  readonly waves: readonly WaveReport[];
  /** Of all groups. */
  readonly reward: MeanReward;
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
  const reward = new RewardSum();
  const groups: GroupReport[] = [];
  let groupsLeftOut = 0;
  for (let first = 0; first < report.items.length; first += itemsAtOnce) {
    const some = await reports.groups(tenant, run, report.items.slice(first, first + itemsAtOnce));
    for (const group of some) {
      signal.add(group);
      reward.add(group);
    }
    groups.push(...some);
    groupsLeftOut += groups.splice(0, groups.length - mostGroups).length;
  }
  return { ...report, groups, groupsLeftOut, waves: signal.waves, reward: reward.reward };
}

/** Of a group, what a wave's sum needs. */
type GroupCounts = Pick<GroupReport, 'wave' | 'n' | 'discarded' | 'voided'> & GroupRewards;

/** The groups of one wave, one of each item, and what discards have cost them. */
export type WaveReport = {
  readonly wave: number;
  readonly groups: number;
  /** Groups that lost at least one rollout. */
  readonly groupsHurt: number;
  readonly rollouts: number;
  readonly rolloutsLost: number;
  /** Share of the wave's rollouts that teach the policy nothing because of a discard; 0 to 1. */
  readonly signalLost: number;
  readonly reward: MeanReward;
};

/** An advantage is a score against those of its group: what stands alone has nothing to be compared with. */
const fewestCompared = 2;

type Sums = {
  groups: number;
  groupsHurt: number;
  rollouts: number;
  rolloutsLost: number;
  without: number;
  readonly reward: RewardSum;
};

/**
 * What discards have cost, wave by wave. The signal of a step is the advantages of its rollouts. A discarded rollout has
 * none; and where a discard leaves a group fewer than two rollouts that can be scored, none of the group has one.
 */
export class LostSignal {
  readonly #waves = new Map<number, Sums>();

  add(group: GroupCounts): void {
    const sums = this.#waves.get(group.wave) ?? noSums();
    sums.groups += 1;
    sums.groupsHurt += group.discarded > 0 ? 1 : 0;
    sums.rollouts += group.n - group.voided;
    sums.rolloutsLost += group.discarded;
    sums.without += withoutAdvantage(group);
    sums.reward.add(group);
    this.#waves.set(group.wave, sums);
  }

  get waves(): readonly WaveReport[] {
    const waves = [...this.#waves].toSorted(([one], [other]) => one - other);
    return waves.map(reportOf);
  }
}

const noSums = (): Sums => ({
  groups: 0,
  groupsHurt: 0,
  rollouts: 0,
  rolloutsLost: 0,
  without: 0,
  reward: new RewardSum(),
});

function reportOf([wave, { without, reward, ...sums }]: readonly [number, Sums]): WaveReport {
  const signalLost = sums.rollouts === 0 ? 0 : without / sums.rollouts;
  return { wave, ...sums, signalLost, reward: reward.reward };
}

/** A group that was one rollout from the start loses nothing but that one. */
function withoutAdvantage({ n, discarded, voided }: GroupCounts): number {
  const counted = n - voided;
  return discarded > 0 && counted - discarded < fewestCompared ? counted : discarded;
}

/**
 * Of all the time that sandboxes have cost, the share in which no rollout had them: while they started, and while they
 * were kept ready. Null: nothing was spent yet.
 */
export function idleShare(costs: readonly SandboxCost[]): number | null {
  const all = sum(costs);
  return all === 0 ? null : sum(costs.filter(({ state }) => state === 'ready' || state === 'starting')) / all;
}

const sum = (some: readonly SandboxCost[]): number => some.reduce((total, { ms }) => total + ms, 0);
