import type { RunReport } from '../../../src/ports/fleet/reports.ts';
import type { RunAnswer } from '../../../src/protocol/native/runs.ts';
import { lostSignal } from '../../../src/reports/lost-signal.ts';
import type { WaveReport } from '../../../src/reports/lost-signal.ts';

/** A run as the native face tells it. */
export function presentRun({ tenant: _tenant, ...report }: RunReport): RunAnswer {
  return {
    ...report,
    calls: { ...report.calls },
    blame: { ...report.blame },
    codes: { ...report.codes },
    waves: lostSignal(report.groups).map(presentWave),
    groups: [...report.groups],
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
