import type { SandboxCost } from '#src/ports/fleet/reports.ts';
import type { RunAnswer } from '#src/protocol/native/runs.ts';
import { idleShare, type WaveReport, type WholeRun } from '#src/reports/run-report.ts';

/** A run as the native face tells it. */
export function presentRun(
  { tenant: _tenant, items: _items, groupsLeftOut, sandboxMs, ...report }: WholeRun,
  fleetCost: readonly SandboxCost[],
): RunAnswer {
  return {
    ...report,
    calls: { ...report.calls },
    blame: { ...report.blame },
    codes: { ...report.codes },
    waves: report.waves.map(presentWave),
    groups: [...report.groups],
    groups_left_out: groupsLeftOut,
    sandbox_seconds: {
      scored: sandboxMs.scored / 1000,
      discarded: sandboxMs.discarded / 1000,
      ungraded: sandboxMs.ungraded / 1000,
    },
    fleet_idle_share: idleShare(fleetCost),
  };
}

const presentWave = ({ wave, groups, groupsHurt, rollouts, rolloutsLost, signalLost }: WaveReport) => ({
  wave,
  groups,
  groups_hurt: groupsHurt,
  rollouts,
  rollouts_lost: rolloutsLost,
  signal_lost: signalLost,
});
