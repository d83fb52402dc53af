import { FleetAnswer } from '#src/protocol/native/fleet.ts';
import type { FleetSight, Paced } from '#src/watching/fleet-sight.ts';
import type { App } from '../http/app.ts';
import { grantOf } from '../http/identify.ts';
import { presentFleet } from './present-fleet.ts';

/** The fleet as a whole. However many ask, fleet state is read at the pace that `look` keeps. */
export type FleetRoutesDeps = {
  readonly fleet: string;
  readonly look: () => Promise<Paced<FleetSight>>;
};

export function fleetRoutes(app: App, { fleet, look }: FleetRoutesDeps): void {
  app.get(
    '/fleet',
    {
      schema: {
        summary: 'The fleet now: who waits, pools, verdicts by blame, processes',
        response: { 200: FleetAnswer },
      },
    },
    async (request) => presentFleet(fleet, await look(), grantOf(request)),
  );
}
