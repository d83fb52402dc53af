import type { FleetRollout } from '#demo/fleet/fleet-view.ts';
import { drawShares } from '#cli/drawing/shares.ts';
import { tones } from '#cli/drawing/svg.ts';
import { startTimes } from '../report.ts';

/** How many rollouts of each launch type had their sandbox after how long: a step up for each rollout. */
export function drawStarts(rollouts: readonly FleetRollout[]): string {
  return drawShares('time from first call to a sandbox of its own (ms)', 'rollouts that have one (%)', [
    ['warm', tones.orange, startTimes(rollouts, 'warm')],
    ['cold', tones.blue, startTimes(rollouts, 'cold')],
  ]);
}
