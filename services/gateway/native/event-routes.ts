import { Readable } from 'node:stream';
import { type Static, Type } from 'typebox';
import { Failure } from '#src/failure/failure.ts';
import { idRule, isIdText, runId, type RunId } from '#src/model/ids.ts';
import { visibleLines } from '#src/model/visible-text.ts';
import { readsTruth, type Scope } from '#src/access/keys.ts';
import { withoutWhy } from '#src/reports/own-events.ts';
import { fleetEventsPath, type Wanted } from '#src/protocol/fleet/events.ts';
import { Lines, RolloutParams, RunParams } from '#src/protocol/native/parts.ts';
import type { App } from '../http/app.ts';
import { invalid } from '../http/answer-failure.ts';
import { type Authentication, grantOf, recordRefusal } from '../http/identify.ts';
import { idText, takeRollout } from '../http/taking.ts';

/** What the fleet's event logs tell, as lines of JSON, each with its newline. */
export type EventRoutesDeps = {
  /** Of all processes, or of one log; the last line says who told how much. */
  readonly tell: (wanted: Wanted, log?: string) => AsyncGenerator<string>;
  /** Of this process, for another one of the fleet; null: it is none. */
  readonly answerPeer: (target: string, authorization: string | undefined) => AsyncGenerator<string> | null;
};

const lines = { produces: 'application/x-ndjson', response: { 200: Lines } };
const RunEventsQuery = Type.Object(
  {
    only: Type.Optional(
      Type.Union([Type.Literal('verdicts'), Type.Literal('logs')], {
        description:
          'verdicts: its verdicts alone, with why for keys of scope admin or truth. logs: no event, but which files every log has',
      }),
    ),
    log: Type.Optional(Type.String({ description: 'the events of one file of this log, with why as above' })),
    file: Type.Optional(Type.String({ description: 'its name, as only=logs has it' })),
    from: Type.Optional(
      Type.String({
        pattern: '^[0-9]{1,15}$',
        description: 'the byte to begin at: read_to of the last answer, or 0',
      }),
    ),
  },
  { additionalProperties: false },
);

/** What is asked of a run's events: all of them, its verdicts, its logs' files, or one file. */
function runQuestion({ only, log, file, from = '0' }: Static<typeof RunEventsQuery>) {
  if (log === undefined && file === undefined) {
    if (only === 'logs') return { follow: 'files' as const };
    return only === undefined ? {} : { verdicts: true as const };
  }
  if (log === undefined || file === undefined || only !== undefined)
    throw invalid('log and file are given together, and without only');
  return { follow: { file, fromByte: Number(from) } };
}

/** Events of the caller's own tenant: what another tenant calls its rollouts, or whether it has any, is told to nobody. */
export function eventRoutes(app: App, deps: EventRoutesDeps): void {
  app.get(
    '/rollouts/:id/events',
    {
      config: { onlyReads: true },
      schema: {
        operationId: 'getRolloutEvents',
        summary: 'What every process logged of it, JSON lines',
        params: RolloutParams,
        ...lines,
      },
    },
    async (request, reply) => {
      const rollout = takeRollout(request, request.params.id, 'the rollout id');
      const run = namedRun(request.headers['x-corral-run']);
      const { tenant, scopes } = grantOf(request);
      const told = toldLines(deps.tell({ tenant, run, rollout }), 'rollout', scopes);
      return reply.type('application/x-ndjson').send(streamOf(told));
    },
  );

  app.get(
    '/runs/:run/events',
    {
      config: { onlyReads: true },
      schema: {
        operationId: 'getRunEvents',
        summary: 'The same of all its rollouts',
        params: RunParams,
        querystring: RunEventsQuery,
        ...lines,
      },
    },
    async (request, reply) => {
      const run = runId(idText(request.params.run, 'the run name'));
      const { tenant, scopes } = grantOf(request);
      const question = runQuestion(request.query);
      const lines = deps.tell({ tenant, run, rollout: null, ...question }, request.query.log);
      const told = toldLines(lines, Object.keys(question).length === 0 ? 'run' : 'verdicts', scopes);
      return reply.type('application/x-ndjson').send(streamOf(told));
    },
  );
}

/** For processes of the fleet, who show no API key. */
export function peerRoute(app: App, deps: EventRoutesDeps, authentication: Authentication): void {
  app.get(fleetEventsPath, async (request, reply) => {
    const answer = deps.answerPeer(request.raw.url ?? '', request.headers.authorization);
    if (answer === null) {
      const evidence = { reason: 'unknown_key' };
      const refused = new Failure('unauthorized', 'only processes of this fleet may read this', { evidence });
      recordRefusal(authentication, request, ['fleet_key'], refused);
      throw refused;
    }
    return reply.type('application/x-ndjson').send(streamOf(answer));
  });
}

/** Read as the client takes it; one that hangs up ends the search. */
const streamOf = (told: AsyncGenerator<string>): Readable => Readable.from(told, { objectMode: false });

/** Without one, of all runs: who asks for a story has an id, and may not know the run. */
function namedRun(header: string | readonly string[] | undefined): RunId | null {
  if (header === undefined) return null;
  if (typeof header === 'string' && isIdText(header)) return runId(header);
  throw invalid(`the run name must be ${idRule}`);
}

/**
 * Event lines as the bearer of a key may read them. Why a rollout has its score holds the truth of its dataset row, and a
 * grader's own words about it: it needs the scope `truth` or `admin`. A key that plays rollouts has neither, because a
 * policy may find it. For a whole run, only the verdicts include it.
 *
 * An operator reads them with curl, so no character of a policy's is an order to a terminal, also in lines of an older process.
 */
export async function* toldLines(
  lines: AsyncIterable<string>,
  of: 'rollout' | 'run' | 'verdicts',
  scopes: readonly Scope[],
): AsyncGenerator<string> {
  const whole = of !== 'run' && readsTruth(scopes);
  for await (const line of lines) yield visibleLines(whole ? line : withoutWhy(line));
}
