import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { exitCodes } from '../../cli/command-error.ts';
import { takeDown } from './down.ts';
import { runInCluster } from './enter.ts';
import { describeError } from './describe-error.ts';
import { requireRoot, startCluster } from './up.ts';

/**
 * `npm run test:cluster -- [vitest arguments…]`: runs test/cluster in the cluster that KUBECONFIG names, or in one that is
 * started for it and taken down after it. The last line is the count, the exit code is vitest's.
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

try {
  process.exitCode = await (process.env['KUBECONFIG'] ? runHere() : runInOwnCluster());
} catch (error) {
  console.error(describeError(error));
  process.exitCode = exitCodes.fleet;
}

async function runHere(): Promise<number> {
  const [program = '', ...args] = vitest;
  const [code] = (await once(spawn(program, args, { stdio: 'inherit' }), 'exit')) as [number | null];
  return code ?? 1;
}

async function runInOwnCluster(): Promise<number> {
  requireRoot();
  process.on('SIGINT', endWithVitest).on('SIGTERM', endWithVitest);
  const wish = { name, nodes: 2, fakeNodes: 0, nodeLoss: 'fast', images: [] } as const;
  const cluster = await startCluster(wish, (line) => console.error(`cluster: ${line}`));
  try {
    return await runInCluster(cluster, vitest);
  } finally {
    await takeDown(name);
  }
}

/** vitest gets the same signal from the terminal and ends first; then the cluster is taken down. */
function endWithVitest(): void {
  process.exitCode = exitCodes.interrupted;
}
