import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from '#infra/cluster/api.ts';
import { fleetSelector } from '#src/adapters/kubernetes/pod/labels.ts';
import { atMostInRounds, exactly, type Figure, quantile, type Round, within } from '../figures.ts';
import { type ApiCalls, callsBetween, readsIn, writesIn } from './api-calls.ts';
import { bareFleet, barePods, requestsFor } from './bare-pods.ts';
import { type SiteFleet, startSiteFleet } from './fleet-on-site.ts';
import { startSandboxds } from './sandboxds/start.ts';
import { openSite, type Site } from './site.ts';

const burst = 500;
const pool = 600;
/** Half a second each: the median forgives two that came at a bad moment. */
const rounds = 5;
const quietMs = 20_000;
/** Owners are written to the pods within four seconds and what they take; rollouts that end sooner would spare the patch. */
const labelledMs = 12_000;
/** After the pool is full: what is still on its way out is gone, and the watches have told it. */
const settleMs = 3_000;

/**
 * A step's opening: five hundred first calls in one instant on six hundred ready pods of fake nodes, for which one
 * process answers as sandboxd, against the time that this API server takes for as many bare creates. Around it the
 * controller's calls of the API are counted: per rollout from one full pool to the next, and while nothing happens.
 */
export async function burstOnWarmPool(
  cluster: Cluster,
  say: (line: string) => void,
): Promise<readonly Figure[]> {
  await using site = await openSite(cluster, 'bench-burst');
  await using _sandboxds = await startSandboxds(cluster.kubeconfig, site.settings);
  await using fleet = await startSiteFleet(site, 'fake', { minReady: pool, max: pool });
  say(`waiting for ${pool} ready pods`);
  await fleet.warm(pool);
  await sleep(settleMs);
  const reads = await readsWhileQuiet(fleet);
  const measured: Round[] = [];
  const writes: number[] = [];
  // The first round is nobody's: connections open, code is compiled.
  for (let round = 0; round <= rounds; round += 1) {
    const floor = await bareCreates(site, round);
    const before = await fleet.apiCalls();
    const value = await firstCalls(fleet, round, say);
    await sleep(labelledMs);
    await endAll(fleet, round);
    await fleet.warm(pool);
    await sleep(settleMs);
    const calls = callsBetween(before, await fleet.apiCalls());
    say(
      `round ${round}: last answer ${value.toFixed(0)} ms, bare ${floor.toFixed(0)} ms; ${describe(calls)}`,
    );
    if (round === 0) continue;
    measured.push({ value, floor });
    writes.push(writesIn(calls) / burst);
  }
  const what = `last of ${burst} first calls at once on ${pool} ready pods, as many bare creates`;
  return [
    atMostInRounds({ what, unit: 'ms', rounds: measured }, 0.5),
    within({
      what: 'API writes for a rollout, pool to gone',
      unit: '',
      value: Math.max(...writes),
      floor: 3,
    }),
    exactly({ what: `API reads in ${quietMs / 1000} s of quiet`, unit: '', value: reads, floor: 0 }),
  ];
}

async function readsWhileQuiet(fleet: SiteFleet): Promise<number> {
  const before = await fleet.apiCalls();
  await sleep(quietMs);
  return readsIn(callsBetween(before, await fleet.apiCalls()));
}

const describe = (calls: ApiCalls) =>
  Object.entries(calls)
    .map(([verb, count]) => `${count} ${verb}`)
    .join(', ');

async function bareCreates(site: Site, round: number): Promise<number> {
  const { bare, settings } = site;
  const pods = barePods(requestsFor(await site.template('fake'), `bare-${round}`, burst), settings);
  const start = performance.now();
  await bare.create(settings.namespace, pods);
  const elapsedMs = performance.now() - start;
  await bare.removeAll(settings.namespace, fleetSelector(bareFleet));
  await sleep(settleMs);
  return elapsedMs;
}

const rolloutsOf = (round: number) => Array.from({ length: burst }, (_, index) => `burst-${round}-${index}`);

/** Milliseconds until the last answer; throws unless each rollout was answered, by a sandbox of its own. */
async function firstCalls(fleet: SiteFleet, round: number, say: (line: string) => void): Promise<number> {
  const start = performance.now();
  const answers = await Promise.all(
    rolloutsOf(round).map(async (rollout) => {
      const body = await fleet.call(rollout, 'call-1', 'hostname');
      return { body, elapsedMs: performance.now() - start };
    }),
  );
  const elapsedMs = performance.now() - start;
  const sandboxes = new Set(answers.map(({ body }) => (JSON.parse(body) as { output: string }).output));
  if (sandboxes.size !== burst) throw new Error(`${burst} rollouts were in ${sandboxes.size} sandboxes`);
  const times = answers.map((answer) => answer.elapsedMs);
  say(`p50 ${quantile(times, 0.5).toFixed(0)} ms, p90 ${quantile(times, 0.9).toFixed(0)} ms`);
  return elapsedMs;
}

async function endAll(fleet: SiteFleet, round: number): Promise<void> {
  await Promise.all(rolloutsOf(round).map((rollout) => fleet.finish(rollout)));
}
