import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';
import type { Cluster } from '#infra/cluster/api.ts';
import { createApi } from '#src/adapters/kubernetes/api/calls.ts';
import { createConnections } from '#src/adapters/kubernetes/api/connections.ts';
import { podView } from '#src/adapters/kubernetes/fleet/pod-view.ts';
import { fleetSelector } from '#src/adapters/kubernetes/pod/labels.ts';
import { follow } from '#src/adapters/kubernetes/watch/follow.ts';
import { systemClock } from '#src/platform/clock.ts';
import { systemRandom } from '#src/platform/random.ts';
import { jittered, longestPauseMs } from '#src/waiting/retries.ts';
import { retryPolicies } from '#src/waiting/retry-policies.ts';
import { atMostInRounds, type Figure, inTurns, type Round } from '../figures.ts';
import { bareFleet, barePods, requestsFor } from './bare-pods.ts';
import { type SiteFleet, startSiteFleet } from './fleet-on-site.ts';
import { openSite, type Site } from './site.ts';

const burst = 64;
/** A machine of two cores that starts sixty-four pods is late by a quarter now and then: the median forgives two such rounds. */
const rounds = 5;
/** A node needs seconds for what is left of sixty-four pods; another round must not begin with it. */
const settleMs = 5_000;

/**
 * Sixty-four rollouts in one instant and no pool: until each has its first answer from a pod of its own on the two real
 * nodes, against the same pods created bare, until sandboxd answers in each.
 */
export async function coldBurst(cluster: Cluster, say: (line: string) => void): Promise<readonly Figure[]> {
  await using site = await openSite(cluster, 'bench-cold');
  await using fleet = await startSiteFleet(site, 'real', { minReady: 0, max: burst });
  const measured: Round[] = [];
  // The first round is nobody's: the nodes read the image from disk.
  for (let round = 0; round <= rounds; round += 1) {
    const measure = { floor: () => bareStarts(site, round), value: () => firstAnswers(fleet, site, round) };
    const { value, floor } = await inTurns(measure, round);
    say(`round ${round}: last first answer ${value.toFixed(0)} ms, bare ${floor.toFixed(0)} ms`);
    if (round > 0) measured.push({ value, floor });
  }
  const what = `last first answer of ${burst} cold rollouts, bare pods until sandboxd answers`;
  return [atMostInRounds({ what, unit: 'ms', rounds: measured }, 1.3)];
}

async function firstAnswers(fleet: SiteFleet, site: Site, round: number): Promise<number> {
  const { namespace, fleet: name } = site.settings;
  const rollouts = Array.from({ length: burst }, (_, index) => `cold-${round}-${index}`);
  const start = performance.now();
  await Promise.all(rollouts.map((rollout) => fleet.call(rollout, 'call-1', 'echo hi')));
  const elapsedMs = performance.now() - start;
  await Promise.all(rollouts.map((rollout) => fleet.finish(rollout)));
  await site.bare.untilNone(namespace, { labelSelector: fleetSelector(name) });
  await sleep(settleMs);
  return elapsedMs;
}

async function bareStarts(site: Site, round: number): Promise<number> {
  const { namespace } = site.settings;
  const pods = barePods(requestsFor(await site.template('real'), `bare-${round}`, burst), site.settings);
  const watched = new AbortController();
  const answering = untilAllAnswer(site, watched.signal);
  await answering.watching;
  const start = performance.now();
  await site.bare.create(namespace, pods);
  await answering.all;
  const elapsedMs = performance.now() - start;
  watched.abort();
  // As the fleet removes its own, so that neither leaves its nodes more to clear away than the other.
  await site.bare.removeAll(namespace, fleetSelector(bareFleet), { atOnce: false });
  await sleep(settleMs);
  return elapsedMs;
}

/** `all` resolves when sandboxd has answered at the address of every bare pod. */
function untilAllAnswer({ credentials, settings }: Site, signal: AbortSignal) {
  const watching = Promise.withResolvers<void>();
  const all = Promise.withResolvers<void>();
  const seen = new Map<string, Promise<void>>();
  const connections = createConnections({
    server: credentials.server,
    answerTimeoutMs: 30_000,
    watchSilenceMs: 600_000,
  });
  const world = { clock: systemClock, random: systemRandom, onCall: () => {} };
  const options = { ...world, credentials, connections };
  const collection = {
    resource: 'pods',
    path: `/api/v1/namespaces/${settings.namespace}/pods`,
    labelSelector: fleetSelector(bareFleet),
  };
  const viewOf = (object: unknown) =>
    podView(object, { port: settings.port, nodeOf: () => null, asked: () => false });
  const follower = {
    viewOf,
    onListed: () => watching.resolve(),
    onChanged: ({ sandbox, address }: NonNullable<ReturnType<typeof viewOf>>) => {
      if (address === null || seen.has(sandbox)) return;
      seen.set(sandbox, untilAnswers(address, signal));
      if (seen.size === burst) void Promise.all(seen.values()).then(() => all.resolve(), all.reject);
    },
    onDeleted: () => {},
    onTrouble: (thrown: unknown) => console.error(thrown),
  };
  void follow(options, createApi(options), collection, follower, signal).then(() => connections.close());
  return { watching: watching.promise, all: all.promise };
}

/** Asks as often as a controller does: who asks more often takes time from those that start. */
async function untilAnswers(address: string, signal: AbortSignal): Promise<void> {
  const { pauses } = retryPolicies.firstAnswer;
  for (let failed = 1; !signal.aborted; failed += 1) {
    const answer = await request(`${address}/health`, { signal }).catch(() => null);
    await answer?.body.dump();
    if (answer?.statusCode === 200) return;
    await sleep(jittered(longestPauseMs(pauses, failed), systemRandom));
  }
}
