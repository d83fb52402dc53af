import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CommandError } from '#cli/command-error.ts';
import type { Cluster } from './api.ts';
import { type ClusterWish, folderOf, planCluster } from './plan.ts';

/** What was asked for, and the programs that were started: everything else of a cluster follows from its name. */
type Written = ClusterWish & { readonly programs: string };

const fileOf = (name: string): string => join(folderOf(name), 'cluster.json');

export async function writeCluster({ name, nodes, fakeNodes, nodeLoss, programs }: Cluster): Promise<void> {
  const written: Written = { name, nodes: nodes.length, fakeNodes, nodeLoss, programs };
  await writeFile(fileOf(name), JSON.stringify(written));
}

/** A cluster that was started on this machine. Throws a CommandError when there is none of that name. */
export async function openCluster(name: string): Promise<Cluster> {
  const cluster = await findCluster(name);
  if (cluster !== null) return cluster;
  throw new CommandError(
    `there is no cluster "${name}" on this machine`,
    'yours',
    `start it: npm run cluster -- up --name ${name}`,
  );
}

/** Null when there is none, or only the beginning of one. */
export async function findCluster(name: string): Promise<Cluster | null> {
  try {
    const written = JSON.parse(await readFile(fileOf(name), 'utf8')) as Written;
    return { ...planCluster(written), programs: written.programs };
  } catch {
    return null;
  }
}
