import { existsSync } from 'node:fs';
import { readFile, readdir } from 'node:fs/promises';
import { foldersOf, processesIn } from './machine/control-groups.ts';
import { type ClusterPlan, folderOf, mostNodes, planCluster } from './plan.ts';
import { namespaceExists } from './network.ts';

/** The largest cluster of a name: whatever a cluster of that name can have made is in this plan. */
export const largestCluster = (name: string): ClusterPlan =>
  planCluster({ name, nodes: mostNodes, fakeNodes: 0, nodeLoss: 'fast' });

/** What this machine holds of a cluster now, one line each: processes, mounts, namespaces, control groups, its folder. */
export async function leftBehind(name: string): Promise<readonly string[]> {
  const plan = largestCluster(name);
  const found = await Promise.all([
    processesOf(plan),
    mountsBelow(plan.folder).then((mounts) => mounts.map((mount) => `mount ${mount}`)),
    groupsOf(plan),
  ]);
  const namespaces = [plan.hub, ...plan.nodes.map((node) => node.namespace)].filter(namespaceExists);
  const folder = existsSync(plan.folder) ? [`folder ${plan.folder}`] : [];
  return [...found.flat(), ...namespaces.map((namespace) => `namespace ${namespace}`), ...folder];
}

/** Deepest first, as they must be unmounted. */
export async function mountsBelow(folder: string): Promise<readonly string[]> {
  const mounts = (await readFile('/proc/self/mounts', 'utf8'))
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '');
  return mounts
    .filter((mount) => mount.startsWith(`${folder}/`))
    .toSorted()
    .toReversed();
}

/** Processes that were started for the cluster: they name its folder, or are in a control group of one of its nodes. */
async function processesOf(plan: ClusterPlan): Promise<readonly string[]> {
  const inGroups = await Promise.all(plan.nodes.map((node) => processesIn(node.controlGroup)));
  const lines = await Promise.all(
    (await readdir('/proc')).filter((entry) => /^\d+$/.test(entry)).map(commandLine),
  );
  const naming = lines.filter(
    ({ pid, line }) => pid !== process.pid && line.includes(`${folderOf(plan.name)}/`),
  );
  return [
    ...inGroups.flat().map((pid) => `process ${pid} of a node`),
    ...naming.map(({ pid, line }) => `process ${pid}: ${line}`),
  ];
}

async function commandLine(pid: string): Promise<{ readonly pid: number; readonly line: string }> {
  const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  return { pid: Number(pid), line: line.replaceAll('\0', ' ').trim() };
}

async function groupsOf(plan: ClusterPlan): Promise<readonly string[]> {
  const folders = await Promise.all(plan.nodes.map((node) => foldersOf(node.controlGroup)));
  return folders.flat().map((folder) => `control group ${folder}`);
}
