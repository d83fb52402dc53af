import { systemClock } from '../src/platform/clock.ts';
import { systemRandom } from '../src/platform/random.ts';
import { say, untilEnd } from './command/until-end.ts';
import { startDemoFleet, warmPool } from './fleet/demo-fleet.ts';
import { readOptions } from './options.ts';
import type { DemoOptions } from './options.ts';
import { runDemo } from './run-demo.ts';
import { loadTasks } from './tasks/load-tasks.ts';

/** Exit codes: 0 everything was as it must be, 1 it was not or the demo could not run, 130 interrupted. */
process.exitCode = (await main(readOptions(process.argv.slice(2)))) ? 0 : 1;

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
    const fleet = await startDemoFleet(options.pool, (event) => {
      if (event.kind === 'died') say(`  ${event.part} died and is started again`);
    });
    return await untilEnd(fleet, async () => {
      const warm = await warmPool(fleet, options.pool, systemClock);
      say(`${warm} sandboxes are warm. ${options.tasks} tasks × ${options.copies} copies begin now.\n`);
      const world = { clock: systemClock, random: systemRandom, out: process.stdout };
      return runDemo(options, tasks.slice(0, options.tasks), fleet, world);
    });
  } catch (error) {
    say(error instanceof Error ? `The demo could not run: ${error.message}` : String(error));
    return false;
  }
}
