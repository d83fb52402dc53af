import { writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { parse } from 'yaml';
import { kubectl } from '#infra/cluster/api.ts';
import { openCluster } from '#infra/cluster/cluster-file.ts';
import { run } from '#infra/cluster/machine/run.ts';
import { installRelease, type Release } from '#test/support/release.ts';
import { atMost, type Figure, within } from '../figures.ts';
import { readUsage } from './usage.ts';

/** `main.ts --cluster NAME --out FILE`: the measurements themselves, inside the cluster's network; `bench/chart.ts` starts it there. */
const { values } = parseArgs({
  options: { cluster: { type: 'string', default: '' }, out: { type: 'string', default: '' } },
});
const cluster = await openCluster(values.cluster);
const say = (line: string) => console.error(`chart: ${line}`);

const fleet = 'bench';
const mebibyte = 1024 * 1024;
/** What starting leaves behind is collected, and the pool is full. */
const settleMs = 30_000;
/** Kubelets look every ten seconds or so. */
const idleMs = 60_000;

const [release, installedMs] = await timed(install);
const idle = await idleCost(release);
const objects = await objectsOf(release);
await release.remove();
await untilGone([release.namespace, `${fleet}-sandboxes`]);
const [, bareMs] = await timed(() => applyBare(release.namespace, objects));
await removeBare(release.namespace);
say(`${seconds(installedMs)} s to the first graded rollout; ${seconds(bareMs)} s for the same pods, bare`);
const what =
  'helm install to the first graded rollout ÷ the same objects applied bare until all pods are ready';
const measured = { what, unit: 's', value: installedMs / 1000, floor: bareMs / 1000 };
await writeFile(values.out, JSON.stringify([atMost(measured, 2.5), ...idle]));

/** From nothing to the first graded rollout, by one command and two requests. */
async function install(): Promise<Release> {
  const installed = await installRelease(fleet);
  const environment = 'counting';
  const ran = await installed.rft.call({ trace: 'first', call: 'c1', command: 'true', environment });
  const graded = await installed.rft.grade({ trace: 'first', environment });
  if (ran.status === 200 && graded.status === 200) return installed;
  throw new Error(`the first rollout was not graded: ${JSON.stringify([ran, graded])}`);
}

/** Two gateways and two controllers that keep a few sandboxes ready, and whom nobody asks anything. */
async function idleCost({ namespace }: Release): Promise<readonly Figure[]> {
  await sleep(settleMs);
  const before = await readUsage(cluster, namespace);
  await sleep(idleMs);
  const after = await readUsage(cluster, namespace);
  const share = ((after.cpuMs - before.cpuMs) / (after.atMs - before.atMs)) * 100;
  const resident = after.residentBytes / mebibyte;
  return [
    within({
      what: 'CPU of two idle gateways and two controllers',
      unit: '% of a core',
      value: share,
      floor: 5,
    }),
    within({ what: 'their memory', unit: 'MiB', value: resident, floor: 900 }),
  ];
}

/** What Helm applied, and the Secrets that its job made. */
async function objectsOf(of: Release): Promise<readonly string[]> {
  const selector = `--selector=corral.dev/fleet=${fleet}`;
  const { items } = JSON.parse(await of.kubectl(['get', 'secrets', selector, '--output=json'])) as {
    readonly items: readonly { readonly metadata: { readonly name: string }; readonly data: unknown }[];
  };
  const secrets = items.map(({ metadata: { name }, data }) =>
    JSON.stringify({ apiVersion: 'v1', kind: 'Secret', metadata: { name }, data }),
  );
  const manifest = await run(['helm', 'get', 'manifest', fleet, `--namespace=${of.namespace}`]);
  return [...secrets, ...manifest.split(/^---$/m).filter((text) => parse(text) !== null)];
}

async function applyBare(namespace: string, texts: readonly string[]): Promise<void> {
  const inNamespace = (args: readonly string[], stdin?: string) =>
    kubectl(cluster, [`--namespace=${namespace}`, ...args], stdin);
  await inNamespace(['create', 'namespace', namespace]);
  const [elsewhere, own] = [texts.filter(saysWhere), texts.filter((text) => !saysWhere(text))];
  await inNamespace(['create', '--filename=-'], own.join('\n---\n'));
  await kubectl(cluster, ['create', '--filename=-'], elsewhere.join('\n---\n'));
  for (const set of [
    `statefulset/${fleet}-redis`,
    `deployment/${fleet}-gateway`,
    `deployment/${fleet}-controller`,
  ])
    await inNamespace(['rollout', 'status', set, '--timeout=50s']);
}

/** It belongs into another namespace than the release's, and is refused where it is told to go there. */
function saysWhere(text: string): boolean {
  const { metadata } = parse(text) as { readonly metadata: { readonly namespace?: string } };
  return metadata.namespace !== undefined;
}

/** Namespaces with all that is in them, and what lies outside of them. */
async function removeBare(namespace: string): Promise<void> {
  await kubectl(cluster, ['delete', 'namespace', namespace, '--wait=false']);
  const outside = 'namespaces,clusterroles,clusterrolebindings,roles,rolebindings';
  const labelled = [`--selector=corral.dev/fleet=${fleet}`, '--wait=false'];
  await kubectl(cluster, ['delete', outside, '--namespace=default', ...labelled]);
}

async function untilGone(namespaces: readonly string[]): Promise<void> {
  const left = () => kubectl(cluster, ['get', 'namespaces', '--ignore-not-found', ...namespaces]);
  while ((await left()) !== '') await sleep(500);
}

async function timed<Result>(work: () => Promise<Result>): Promise<readonly [Result, number]> {
  const startMs = performance.now();
  const result = await work();
  return [result, performance.now() - startMs];
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(1);
}
