import { join } from 'node:path';
import { ensurePrograms } from './binaries/cache.ts';
import { clusterPrograms, kwok } from './binaries/programs.ts';
import { takeDown } from './down.ts';
import { runAttached, runInCluster } from './enter.ts';
import { unlessInterrupted, untilInterrupted } from './interruption.ts';
import { describeError, exitCodeOf } from './describe-error.ts';
import { requireRoot, startCluster } from './up.ts';

/**
 * `npm run test:cluster -- [vitest arguments…]`: runs test/cluster in the cluster that KUBECONFIG names, or in one that
 * is started for it and taken down after it. The last line is the count, the exit code is vitest's.
 */
const root = join(import.meta.dirname, '..', '..');
const name = 'test';

const vitest = [
  process.execPath,
  join(root, 'node_modules/vitest/vitest.mjs'),
  'run',
  `--root=${root}`,
  `--config=${join(root, 'vitest.cluster.config.ts')}`,
  '--reporter=default',
  `--reporter=${join(root, 'tools/count-reporter.ts')}`,
  ...process.argv.slice(2),
];

const interrupted = untilInterrupted();
process.exit(await main());

async function main(): Promise<number> {
  try {
    return await (process.env['KUBECONFIG']
      ? runAttached(vitest, process.env, interrupted)
      : runInOwnCluster());
  } catch (error) {
    console.error(describeError(error));
    return exitCodeOf(error, interrupted);
  }
}

function told(line: string): void {
  console.error(`cluster: ${line}`);
}

async function runInOwnCluster(): Promise<number> {
  requireRoot();
  // A test starts a second cluster, with fake nodes, from inside this one, where nothing can be fetched.
  await unlessInterrupted(ensurePrograms([...clusterPrograms, kwok], told), interrupted);
  const wish = { name, nodes: 2, fakeNodes: 0, nodeLoss: 'fast', images: [] } as const;
  const cluster = await startCluster(wish, told, interrupted);
  try {
    return await runInCluster(cluster, vitest, interrupted);
  } finally {
    await takeDown(name);
  }
}
