import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { FleetHistoryAnswer } from '#src/protocol/console/fleet.ts';
import { FleetAnswer } from '#src/protocol/native/fleet.ts';
import type { FleetHistories } from '../fleet-histories.ts';
import type { Session } from '../sessions.ts';
import type { App } from './app.ts';

type FleetDeps = {
  readonly sessionOf: (request: FastifyRequest) => Promise<Session>;
  readonly fleets: FleetHistories;
};

const MinutesQuery = Type.Object({ minutes: Type.Optional(Type.String({ pattern: '^[1-9][0-9]{0,3}$' })) });
const usualMinutes = '10';

/** The fleet now, and what it was like. */
export function fleetRoutes(app: App, { sessionOf, fleets }: FleetDeps): void {
  app.get('/api/fleet', { schema: { response: { 200: FleetAnswer } } }, async (request) =>
    fleets.read(await sessionOf(request)),
  );

  app.get(
    '/api/fleet/history',
    { schema: { querystring: MinutesQuery, response: { 200: FleetHistoryAnswer } } },
    async (request) => fleets.past(await sessionOf(request), Number(request.query.minutes ?? usualMinutes)),
  );
}
