import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from '#infra/cluster/api.ts';
import { fleetSelector } from '#src/adapters/kubernetes/pod/labels.ts';
import { podFor } from '#src/adapters/kubernetes/pod/pod.ts';
import { type Figure, within } from '../figures.ts';
import { peakResidentBytes, residentBytes } from '../processes.ts';
import { requestsFor } from './bare-pods.ts';
import { startSiteFleet } from './fleet-on-site.ts';
import { openSite, type Site } from './site.ts';

const pods = 5_000;
const mebibyte = 1024 * 1024;
/** Posted by one client between two looks. */
const batch = 500;
/** Their watch has told of the last one long before, and the first memory that nobody needs is given back. */
const settleMs = 20_000;

/**
 * What a controller needs to watch five thousand running pods, which it saw come. They bear its fleet's labels and are in
 * no fleet state, so each is also compared, and waited for, as garbage.
 */
export async function manyPods(cluster: Cluster, say: (line: string) => void): Promise<readonly Figure[]> {
  await using site = await openSite(cluster, 'bench-memory');
  await using fleet = await startSiteFleet(site, 'fake', { minReady: 0, max: 0 });
  const pid = await fleet.controllerPid();
  const before = await residentBytes(pid);
  await createInBatches(site, say);
  await sleep(settleMs);
  say(`${mebibytes(before)} before, ${mebibytes(await residentBytes(pid))} with ${pods} pods`);
  const value = (await peakResidentBytes(pid)) / mebibyte;
  await site.bare.removeAll(site.settings.namespace, fleetSelector(site.settings.fleet));
  const what = `most memory of a controller that watches ${pods} pods`;
  return [within({ what, unit: 'MiB', value, floor: 250 })];
}

const mebibytes = (bytes: number) => `${(bytes / mebibyte).toFixed(0)} MiB`;

/** Not in one instant, which would only fill the client's own queue. */
async function createInBatches(site: Site, say: (line: string) => void): Promise<void> {
  const { bare, settings } = site;
  const requests = requestsFor(await site.template('fake'), 'many', pods);
  for (let from = 0; from < pods; from += batch) {
    const part = requests.slice(from, from + batch);
    await bare.create(
      settings.namespace,
      part.map((request) => podFor(request, settings)),
    );
    say(`${from + batch} pods created`);
  }
  await bare.untilNone(settings.namespace, { fieldSelector: 'status.phase!=Running' });
}
