import { exitCodes } from '#cli/command-error.ts';
import { openCluster } from './cluster-file.ts';
import { describeError, exitCodeOf } from './describe-error.ts';
import { takeDown } from './down.ts';
import { runInCluster } from './enter.ts';
import { untilInterrupted } from './interruption.ts';
import { type Order, readOrder } from './options.ts';
import { howToUse, statusOf } from './status.ts';
import { requireRoot, type Start, startCluster } from './up.ts';

/** `npm run cluster -- up | down | status | run`: a real Kubernetes cluster on this machine. */
const interrupted = untilInterrupted();
// At the end, and not by itself: what was interrupted may still be waiting for something.
process.exit(await main());

async function main(): Promise<number> {
  try {
    const order = readOrder(process.argv.slice(2));
    requireRoot();
    return await carryOut(order);
  } catch (error) {
    console.error(describeError(error));
    return exitCodeOf(error, interrupted);
  }
}

async function carryOut(order: Order): Promise<number> {
  switch (order.command) {
    case 'up':
      await up(order.start);
      return exitCodes.done;
    case 'down':
      await takeDown(order.name);
      return exitCodes.done;
    case 'status':
      console.log(await statusOf(await openCluster(order.name)));
      return exitCodes.done;
    case 'run':
      return runInCluster(await openCluster(order.name), order.argv, interrupted);
  }
}

async function up(start: Start): Promise<void> {
  const startedMs = performance.now();
  const cluster = await startCluster(start, (line) => console.error(`cluster: ${line}`), interrupted);
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
  console.log(`cluster ${cluster.name} is up after ${seconds} s`);
  for (const line of howToUse(cluster)) console.log(line);
}
