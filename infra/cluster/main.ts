import { CommandError, exitCodes } from '../../cli/command-error.ts';
import { openCluster } from './cluster-file.ts';
import { describeError } from './describe-error.ts';
import { takeDown } from './down.ts';
import { runInCluster } from './enter.ts';
import { readOrder } from './options.ts';
import type { Order } from './options.ts';
import { howToUse, statusOf } from './status.ts';
import { requireRoot, startCluster } from './up.ts';

/** `npm run cluster -- up | down | status | run`: a real Kubernetes cluster on this machine. */
try {
  const order = readOrder(process.argv.slice(2));
  requireRoot();
  process.exitCode = await carryOut(order);
} catch (error) {
  console.error(describeError(error));
  process.exitCode = error instanceof CommandError ? error.exitCode : exitCodes.fleet;
}

async function carryOut(order: Order): Promise<number> {
  switch (order.command) {
    case 'up':
      await up(order);
      return exitCodes.done;
    case 'down':
      await takeDown(order.name);
      return exitCodes.done;
    case 'status':
      console.log(await statusOf(await openCluster(order.name)));
      return exitCodes.done;
    case 'run':
      return runInCluster(await openCluster(order.name), order.argv);
  }
}

async function up(order: Extract<Order, { command: 'up' }>): Promise<void> {
  const startedMs = performance.now();
  const interrupted = () =>
    void takeDown(order.start.name).finally(() => process.exit(exitCodes.interrupted));
  process.once('SIGINT', interrupted).once('SIGTERM', interrupted);
  const cluster = await startCluster(order.start, (line) => console.error(`cluster: ${line}`));
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
  console.log(`cluster ${cluster.name} is up after ${seconds} s`);
  for (const line of howToUse(cluster)) console.log(line);
  process.off('SIGINT', interrupted).off('SIGTERM', interrupted);
}
