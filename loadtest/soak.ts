import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { say, untilEnd } from '#demo/command/until-end.ts';
import { systemClock } from '#src/platform/clock.ts';
import { systemRandom } from '#src/platform/random.ts';
import { watchParts } from './fleet/part-watch.ts';
import { startSoakFleet } from './fleet/soak-fleet.ts';
import { soakInTestCluster } from './hostile/test-cluster.ts';
import { readOptions, type SoakOptions } from './options.ts';
import { reportLines } from './report/soak-report.ts';
import { runSoak } from './run-soak.ts';
import { isClean } from './trainer/verdict.ts';

/** Exit codes: 0 all four zeros hold, 1 one does not, nothing was scored, or the soak could not run, 130 interrupted. */
process.exitCode = await codeOf(process.argv.slice(2));

async function codeOf(args: readonly string[]): Promise<number> {
  const options = readOptions(args);
  if (options.hostile !== options.cluster) {
    say('--cluster and --hostile go together: only pods are played with hostile policies.');
    return 1;
  }
  if (!options.hostile) return (await main(options)) ? 0 : 1;
  if (!process.env['KUBECONFIG']) return soakInTestCluster(args);
  // Loaded only here: the client of clusters costs most of a second.
  const { hostileSoak } = await import('./hostile/hostile-soak.ts');
  return (await hostileSoak(options)) ? 0 : 1;
}

async function main(options: SoakOptions): Promise<boolean> {
  const startMs = systemClock.monotonicMs();
  const parts = watchParts(systemClock, () => systemClock.monotonicMs() - startMs);
  // A quarter of a wave is warm, so that both kinds of start are played; half as much again is room for losses.
  const pool = { minReady: Math.ceil(options.rollouts / 4), max: Math.ceil(options.rollouts * 1.5) };
  say(
    `A fleet on this machine, ${options.rollouts} rollouts a wave, time ${options.speed} times faster, seed ${options.seed}.`,
  );
  try {
    const fleet = await startSoakFleet(options.speed, pool, (part) => parts.ready(part));
    return await untilEnd(fleet, async () => {
      const world = { options, fleet, parts, clock: systemClock, random: systemRandom, startMs, say };
      const soak = await runSoak(world);
      await mkdir(options.out, { recursive: true });
      await writeFile(join(options.out, 'soak.json'), `${JSON.stringify(soak, null, 2)}\n`);
      say(
        `\n${reportLines(soak).join('\n')}\n\nEverything the trainer saw: ${join(options.out, 'soak.json')}`,
      );
      return isClean(soak.verdict) && soak.verdict.rollouts.scored > 0;
    });
  } catch (error) {
    say(error instanceof Error ? `The soak could not run: ${error.message}` : String(error));
    return false;
  }
}
