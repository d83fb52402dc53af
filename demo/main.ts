import type { FleetEvent } from '#cli/fleet/start-fleet.ts';
import { systemClock } from '#src/platform/clock.ts';
import { systemRandom } from '#src/platform/random.ts';
import { say, untilEnd } from './command/until-end.ts';
import { type DemoFleet, startDemoFleet, warmPool } from './fleet/demo-fleet.ts';
import { type DemoOptions, readOptions } from './options.ts';
import { runDemo } from './run-demo.ts';
import { loadTasks } from './tasks/load-tasks.ts';
import { playInTestCluster } from './test-cluster.ts';

/** Exit codes: 0 everything was as it must be, 1 it was not or the demo could not run, 130 interrupted. */
process.exitCode = await codeOf(process.argv.slice(2));

async function codeOf(args: readonly string[]): Promise<number> {
  const options = readOptions(args);
  if (options.provider === 'local' || process.env['KUBECONFIG']) return (await main(options)) ? 0 : 1;
  const played = await playInTestCluster(args);
  if (played === null) say(noCluster);
  return played ?? 1;
}

const noCluster = `There is no cluster to play on. Start one on this machine (npm run cluster -- up), or set KUBECONFIG to one
whose pods this machine reaches, and name an --image that it can pull (npm run images makes one).`;

async function main(options: DemoOptions): Promise<boolean> {
  const tasks = await loadTasks();
  if (options.tasks > tasks.length) {
    say(
      `There are ${tasks.length} tasks, --tasks ${options.tasks} are too many. Ask for more --copies instead.`,
    );
    return false;
  }
  say(`Starting the whole fleet on this machine; scripted policies play the trainer, no model is called.`);
  try {
    const fleet = await startOf(options);
    return await untilEnd(fleet, async () => {
      const warm = await warmPool(fleet, options.pool, systemClock);
      say(`${warm} sandboxes are warm. ${options.tasks} tasks × ${options.copies} copies begin now.\n`);
      const world = { clock: systemClock, random: systemRandom, out: process.stdout };
      const isHeld = await runDemo(options, tasks.slice(0, options.tasks), fleet, world);
      if (options.keep) await untilInterrupted(fleet);
      return isHeld;
    });
  } catch (error) {
    say(error instanceof Error ? `The demo could not run: ${error.message}` : String(error));
    return false;
  }
}

/** Ctrl-C ends the fleet and this process; see `untilEnd`. */
function untilInterrupted({ gatewayUrl, apiKey, consoleUrl }: DemoFleet): Promise<never> {
  say(`\nThe fleet stays up until Ctrl-C.\ngateway  ${gatewayUrl}\nkey      ${apiKey}`);
  if (consoleUrl !== null)
    say(`console  ${consoleUrl}   (logs in once, soon after the start; later log in with the key)`);
  return new Promise(() => undefined);
}

async function startOf({ provider, pool, image, keep }: DemoOptions): Promise<DemoFleet> {
  if (provider === 'local') return startDemoFleet(pool, tell, keep);
  // Loaded only here: the client of clusters costs most of a second.
  const { startDemoFleetOnCluster } = await import('./fleet/on-cluster.ts');
  return startDemoFleetOnCluster({ minReady: pool, image, random: systemRandom, onEvent: tell });
}

function tell(event: FleetEvent): void {
  if (event.kind === 'died') say(`  ${event.part} died and is started again`);
}
