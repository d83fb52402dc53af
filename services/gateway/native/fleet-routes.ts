import type { Grant } from '#src/access/keys.ts';
import { type Blame, blameOf } from '#src/failure/codes.ts';
import { ownerOf } from '#src/model/rollout.ts';
import {
  type HeardProcess,
  verdictsOfMs,
  type WaitingRun,
  type WatchedTemplate,
} from '#src/ports/fleet/watch.ts';
import { FleetAnswer } from '#src/protocol/native/fleet.ts';
import { type FleetSight, isSilent, type Paced } from '#src/watching/fleet-sight.ts';
import type { App } from '../http/app.ts';
import { grantOf } from '../http/identify.ts';

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
        operationId: 'getFleet',
        summary: 'The fleet now: who waits, pools, verdicts by blame, processes',
        response: { 200: FleetAnswer },
      },
    },
    async (request) => presentFleet(fleet, await look(), grantOf(request)),
  );
}

/** More than a screen has. */
const mostRuns = 50;

/**
 * The fleet as the bearer of a key may see it: without the scope `fleet` other tenants' runs are counts, and processes
 * have no addresses.
 */
function presentFleet(fleet: string, { reading, ...paced }: Paced<FleetSight>, grant: Grant): FleetAnswer {
  const seesAll = grant.scopes.includes('fleet');
  const { rollouts, sandboxes, memory, server } = reading;
  return {
    fleet,
    age_ms: Math.round(paced.ageMs),
    next_in_ms: Math.round(paced.nextInMs),
    sees: seesAll ? 'all tenants' : 'own tenant',
    rollouts: { open: rollouts.open, calls_running: rollouts.callsRunning },
    waiting: presentLine(reading, ({ first }) => seesAll || ownerOf(first).tenant === grant.tenant),
    sandboxes: { ...sandboxes, starting_at_most: startsAtMost(reading.processes) },
    templates: reading.templates.filter((one) => !isIdle(one)).map((one) => presentTemplate(one, reading)),
    templates_left_out: reading.templatesLeftOut,
    launches: reading.launches.map((one) =>
      presentLaunch(one, (tenant) => seesAll || tenant === grant.tenant),
    ),
    verdicts: presentVerdicts(reading.processes),
    processes: reading.processes.map((process) => presentProcess(process, seesAll)),
    redis: {
      version: server?.version ?? null,
      maxmemory_policy: server?.evictionPolicy ?? null,
      append_only: server?.appendOnly ?? null,
      used_bytes: memory.usedBytes,
      limit_bytes: memory.limitBytes,
      reading_ms: reading.costMs,
    },
  };
}

function presentLine(
  { line, runsLeftOut, rollouts, environments }: FleetSight,
  isVisible: (run: WaitingRun) => boolean,
): FleetAnswer['waiting'] {
  const visible = line.filter(isVisible);
  const others = line.filter((run) => !isVisible(run));
  return {
    rollouts: rollouts.inLine,
    oldest_ms: line[0]?.firstWaitsMs ?? null,
    runs: visible.slice(0, mostRuns).map(({ template, waiting, ahead, first, firstWaitsMs }) => {
      const { tenant, run, rollout } = ownerOf(first);
      const environment = environments.get(template) ?? null;
      const place = ahead + 1;
      return {
        tenant,
        run,
        environment,
        template,
        waiting,
        place,
        oldest_ms: firstWaitsMs,
        oldest_rollout: rollout,
      };
    }),
    others: { runs: others.length, waiting: others.reduce((sum, { waiting }) => sum + waiting, 0) },
    runs_left_out: runsLeftOut + Math.max(0, visible.length - mostRuns),
  };
}

const isIdle = ({ ready, starting, held, waiting, announced, breaker, lastFailure }: WatchedTemplate) =>
  ready + starting + held + waiting + announced === 0 && breaker === 'closed' && lastFailure === null;

function presentTemplate(
  { template, ready, starting, held, waiting, announced, breaker, lastFailure }: WatchedTemplate,
  { environments }: FleetSight,
): FleetAnswer['templates'][number] {
  const environment = environments.get(template) ?? null;
  const last_failure =
    lastFailure === null
      ? null
      : { code: lastFailure.code, blame: blameOf(lastFailure.code), ago_ms: lastFailure.agoMs };
  return { template, environment, ready, starting, held, waiting, announced, breaker, last_failure };
}

/** Its failure may name what another tenant wrote, so it is shown with its run. */
function presentLaunch(
  { launch, state, agoMs, ...end }: FleetSight['launches'][number],
  isVisible: (tenant: string) => boolean,
): FleetAnswer['launches'][number] {
  const { sandbox, environment, reason, run } = launch;
  const isOwn = run === null || isVisible(run.slice(0, run.indexOf('/')));
  const rollout = 'rollout' in end && end.rollout !== null ? ownerOf(end.rollout) : null;
  return {
    sandbox,
    environment,
    reason,
    run: isOwn ? run : null,
    state,
    ago_ms: Math.round(agoMs),
    took_ms: 'tookMs' in end ? end.tookMs : null,
    rollout: rollout !== null && isVisible(rollout.tenant) ? rollout.rollout : null,
    failure: 'failure' in end && isOwn ? end.failure : null,
  };
}

function presentVerdicts(processes: readonly HeardProcess[]): FleetAnswer['verdicts'] {
  const codes: Record<string, number> = {};
  const blame: Record<Blame, number> = { model: 0, caller: 0, infrastructure: 0 };
  let scorable = 0;
  for (const { verdicts } of processes) {
    const { scorable: good = 0, ...discards } = verdicts;
    scorable += good;
    for (const [code, count] of Object.entries(discards)) {
      codes[code] = (codes[code] ?? 0) + count;
      blame[blameOf(code)] += count;
    }
  }
  const discarded = blame.model + blame.caller + blame.infrastructure;
  return { of_ms: verdictsOfMs, scorable, discarded, blame, codes };
}

/** Every controller has the same budget; while it is changed, the larger one counts. */
function startsAtMost(processes: readonly HeardProcess[]): number | null {
  const told = processes.flatMap((process) =>
    process.state === 'left' || isSilent(process) ? [] : (process.atMost['starts'] ?? []),
  );
  return told.length === 0 ? null : Math.max(...told);
}

function presentProcess(process: HeardProcess, seesAll: boolean): FleetAnswer['processes'][number] {
  const { kind, host, pid, version, ageMs, silentMs, inHand, atMost, unready } = process;
  return {
    kind,
    state: isSilent(process) ? 'silent' : process.state,
    host: seesAll ? host : null,
    pid: seesAll ? pid : null,
    version,
    age_ms: ageMs,
    heard_ms: silentMs,
    in_hand: { ...inHand },
    at_most: { ...atMost },
    ...(unready !== undefined && { unready }),
  };
}
