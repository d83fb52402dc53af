/** Of a group, what a wave's sum needs. */
type GroupCounts = { readonly wave: number; readonly n: number; readonly discarded: number };

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
};

/** An advantage is a score against those of its group: what stands alone has nothing to be compared with. */
const fewestCompared = 2;

/**
 * What discards have cost, wave by wave. The signal of a step is the advantages of its rollouts. A discarded rollout has
 * none; and where a discard leaves a group fewer than two rollouts that can be scored, none of the group has one.
 */
export function lostSignal(groups: readonly GroupCounts[]): readonly WaveReport[] {
  const waves = [...Map.groupBy(groups, ({ wave }) => wave)].sort(([one], [other]) => one - other);
  return waves.map(([wave, own]) => reportOf(wave, own));
}

function reportOf(wave: number, groups: readonly GroupCounts[]): WaveReport {
  const rollouts = sum(groups.map(({ n }) => n));
  return {
    wave,
    groups: groups.length,
    groupsHurt: groups.filter(({ discarded }) => discarded > 0).length,
    rollouts,
    rolloutsLost: sum(groups.map(({ discarded }) => discarded)),
    signalLost: rollouts === 0 ? 0 : sum(groups.map(withoutAdvantage)) / rollouts,
  };
}

/** A group that was one rollout from the start loses nothing but that one. */
function withoutAdvantage({ n, discarded }: GroupCounts): number {
  return discarded > 0 && n - discarded < fewestCompared ? n : discarded;
}

const sum = (amounts: readonly number[]): number => amounts.reduce((total, amount) => total + amount, 0);
