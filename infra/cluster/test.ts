import { join } from 'node:path';
import { buildPreviousImages } from '../images/previous.ts';
import { taskFiles } from '../images/tasks/task-files.ts';
import { ensurePrograms } from './binaries/cache.ts';
import { clusterPrograms, kwok, newRunc } from './binaries/programs.ts';
import { takeDown } from './down.ts';
import { openCluster } from './cluster-file.ts';
import { clusterVariable, runAttached, runInCluster } from './enter.ts';
import { unlessInterrupted, untilInterrupted } from './interruption.ts';
import { describeError, exitCodeOf } from './describe-error.ts';
import { requireRoot, startCluster } from './up.ts';

/**
 * `npm run test:cluster`, `test:chart` and `test:alerts`, with vitest's own arguments: runs the suite of that name in
 * the cluster that KUBECONFIG or CORRAL_CLUSTER names, or in one that is started for it and taken down after it. The last
 * line is the count, the exit code is vitest's. `--all`: also what takes too long for CI.
 */
const root = join(import.meta.dirname, '..', '..');
const name = 'test';
const [suite = '', ...others] = process.argv.slice(2).filter((argument) => argument !== '--all');
const all = process.argv.includes('--all');
if (all) process.env['CORRAL_CHART_TESTS'] = 'all';

/** What a suite is in `vitest.cluster.config.ts`, where it is not one project of its name. */
const projectsOf: Readonly<Record<string, readonly string[]>> = { cluster: ['peaceful', 'alone'] };
const projects = others.includes('--project') ? [] : (projectsOf[suite] ?? [suite]);

const vitest = [
  process.execPath,
  join(root, 'node_modules/vitest/vitest.mjs'),
  'run',
  `--root=${root}`,
  `--config=${join(root, 'vitest.cluster.config.ts')}`,
  ...projects.map((project) => `--project=${project}`),
  '--reporter=default',
  `--reporter=${join(root, 'tools/count-reporter.ts')}`,
  ...others,
];

const interrupted = untilInterrupted();
process.exit(await main());

async function main(): Promise<number> {
  try {
    return await run();
  } catch (error) {
    console.error(describeError(error));
    return exitCodeOf(error, interrupted);
  }
}

async function run(): Promise<number> {
  if (process.env['KUBECONFIG']) return runAttached(vitest, process.env, interrupted);
  requireRoot();
  // A test starts a second cluster, with fake nodes, from inside this one, others add a node or upgrade; nothing can be fetched there.
  await unlessInterrupted(ensurePrograms([...clusterPrograms, kwok, newRunc], told), interrupted);
  if (suite === 'cluster') await unlessInterrupted(taskFiles(), interrupted);
  if (all) {
    told('images of the previous version');
    await unlessInterrupted(buildPreviousImages(), interrupted);
  }
  const running = process.env[clusterVariable];
  return running ? runInCluster(await openCluster(running), vitest, interrupted) : runInOwnCluster();
}

function told(line: string): void {
  console.error(`cluster: ${line}`);
}

async function runInOwnCluster(): Promise<number> {
  const wish = { name, nodes: 2, fakeNodes: 0, nodeLoss: 'fast', images: [] } as const;
  const cluster = await startCluster(wish, told, interrupted);
  try {
    return await runInCluster(cluster, vitest, interrupted);
  } finally {
    await takeDown(name);
  }
}
