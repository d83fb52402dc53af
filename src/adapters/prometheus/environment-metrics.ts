import type { EnvironmentsInForce } from '#src/ports/fleet/catalogs.ts';
import type { Instruments } from './instruments.ts';

/** Enough of a digest to see whether all processes go by the same. */
const digestLabelLength = 12;

/** By which environments a process goes, and whether its own folder can be used. */
export function environmentMetrics({ show, set }: Instruments): (now: EnvironmentsInForce) => void {
  return ({ digest, trouble }) => {
    const labels = { digest: digest.slice(0, digestLabelLength) };
    show('corral_environments_in_force', [{ labels, value: 1 }]);
    set('corral_environments_trouble', {}, trouble === null ? 0 : 1);
  };
}
