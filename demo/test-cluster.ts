import { fileURLToPath } from 'node:url';
import { findCluster } from '#infra/cluster/cluster-file.ts';
import { runInCluster } from '#infra/cluster/enter.ts';
import { importImages } from '#infra/cluster/images/import.ts';
import { buildImage } from '#infra/images/build.ts';
import { say } from './command/until-end.ts';

const name = 'dev';

/**
 * Plays the demo again, inside this machine's test cluster, whose pods are reached from nowhere else; its nodes are given
 * the demo's image first. Resolves with the exit code; null when there is no such cluster.
 */
export async function playInTestCluster(args: readonly string[]): Promise<number | null> {
  const cluster = await findCluster(name);
  if (cluster === null) return null;
  say(`In the test cluster "${name}" of this machine; its nodes are given the image first.`);
  const { archive } = await buildImage('demo');
  await Promise.all(cluster.nodes.map((node) => importImages(cluster, node, [archive])));
  const main = fileURLToPath(new URL('main.ts', import.meta.url));
  return runInCluster(cluster, [process.execPath, ...process.execArgv, main, ...args]);
}
