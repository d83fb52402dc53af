import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from '#infra/cluster/api.ts';
import { fleetSelector } from '#src/adapters/kubernetes/pod/labels.ts';
import { createKubernetesProvider } from '#src/adapters/kubernetes/provider.ts';
import { systemClock } from '#src/platform/clock.ts';
import { createLogger } from '#src/platform/logging.ts';
import { systemRandom } from '#src/platform/random.ts';
import { atMostInRounds, type Figure, inTurns, type Round } from '../figures.ts';
import { bareFleet, barePods, requestsFor } from './bare-pods.ts';
import { openSite, type Site } from './site.ts';

const pods = 500;
/** One takes a second, in which a machine of two cores may be late by as much: the median forgives three such rounds. */
const rounds = 7;
/** After a removal the scheduler and kwok still have some work. */
const settleMs = 1_000;

/** Creates through our provider against a bare HTTP/2 client that posts the same pods, in turns. */
export async function creates(cluster: Cluster, say: (line: string) => void): Promise<readonly Figure[]> {
  await using site = await openSite(cluster, 'bench-creates');
  const through = providerOf(site);
  const bare = bareOf(site);
  const measured: Round[] = [];
  // The first round is nobody's: connections open, code is compiled.
  for (let round = 0; round <= rounds; round += 1) {
    const measure = { value: () => through.create(`r${round}`), floor: () => bare.create(`r${round}`) };
    const { value, floor } = await inTurns(measure, round);
    say(`round ${round}: ${pods} creates in ${value.toFixed(0)} ms, bare in ${floor.toFixed(0)} ms`);
    if (round > 0) measured.push({ value, floor });
  }
  await through.close();
  const what = `${pods} creates through the provider, a bare HTTP/2 client posting the same`;
  return [atMostInRounds({ what, unit: 'ms', rounds: measured }, 1.3)];
}

type Creator = {
  /** Milliseconds until the last is answered; they are removed again. */
  create(prefix: string): Promise<number>;
  close(): Promise<void>;
};

function providerOf(site: Site): Creator {
  const { credentials, settings } = site;
  const log = createLogger({ service: 'bench', level: 'error', clock: systemClock });
  const world = { clock: systemClock, random: systemRandom, log, onCall: () => {} };
  const provider = createKubernetesProvider({ ...world, credentials, pods: settings });
  return {
    create: (prefix) =>
      timed(site, fleetSelector(settings.fleet), async () => {
        const requests = requestsFor(await site.template('fake'), prefix, pods);
        return () => Promise.all(requests.map((request) => provider.create(request)));
      }),
    close: () => provider.close(),
  };
}

function bareOf(site: Site): Creator {
  return {
    create: (prefix) =>
      timed(site, fleetSelector(bareFleet), async () => {
        const prepared = barePods(
          requestsFor(await site.template('fake'), `b${prefix}`, pods),
          site.settings,
        );
        return () => site.bare.create(site.settings.namespace, prepared);
      }),
    close: async () => {},
  };
}

async function timed(
  site: Site,
  selector: string,
  prepare: () => Promise<() => Promise<unknown>>,
): Promise<number> {
  const work = await prepare();
  const start = performance.now();
  await work();
  const elapsedMs = performance.now() - start;
  await site.bare.removeAll(site.settings.namespace, selector);
  await sleep(settleMs);
  return elapsedMs;
}
