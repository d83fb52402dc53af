import type { EnvironmentsInForce } from '../../ports/fleet/catalogs.ts';
import type { Instruments } from './instruments.ts';

/** Enough of a digest to see whether all processes go by the same. */
const digestLabelLength = 12;

/** By which environments a process goes, and whether its own folder can be used. */
export function environmentMetrics({ gauge }: Instruments): (now: EnvironmentsInForce) => void {
  const inForce = gauge('corral_environments_in_force', '1, with the digest of all environments in force', [
    'digest',
  ]);
  const trouble = gauge(
    'corral_environments_trouble',
    '1 while the folder of environments, or the newest of the fleet, cannot be used here, so that older ones go on',
  );
  return (now) => {
    inForce.reset();
    inForce.set({ digest: now.digest.slice(0, digestLabelLength) }, 1);
    trouble.set(now.trouble === null ? 0 : 1);
  };
}
