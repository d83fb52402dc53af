import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { CommandError } from '#cli/command-error.ts';
import { visibleLine } from '#src/model/visible-text.ts';
import { say } from '#demo/command/until-end.ts';
import { systemClock } from '#src/platform/clock.ts';
import { systemRandom } from '#src/platform/random.ts';
import { allScored, showsZeros } from './burst/load-findings.ts';
import { type LoadOptions, readOptions } from './burst/options.ts';
import { type LoadRun, runLoad } from './burst/run-load.ts';
import { loadPage } from './report/load-page.ts';
import { loadJson, loadLines } from './report/load-report.ts';

/** Exit codes: 0 all four zeros hold, 1 one does not or nothing was scored, 2 it could not begin, 130 interrupted. */
process.exitCode = await main(readOptions(process.argv.slice(2), process.env));

async function main(options: LoadOptions): Promise<number> {
  const { ending, interrupted, clear } = signals();
  try {
    const world = { options, clock: systemClock, random: systemRandom, ending, interrupted, say };
    const code = await report(await runLoad(world), options);
    return interrupted.aborted ? 130 : code;
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    say(visibleLine(`${error.message}; the fault: ${error.fault}; what to do: ${error.next}`));
    return interrupted.aborted ? 130 : 2;
  } finally {
    clear();
  }
}

/** A first Ctrl-C is as if the time were up, and what was played is judged; a second one, or a SIGTERM, cuts it off. */
function signals() {
  const ending = new AbortController();
  const interruption = new AbortController();
  const interrupt = () => {
    say('\nInterrupted: nothing more is sent; the run is closed.');
    interruption.abort(new Error('the load test was interrupted'));
  };
  const end = () => {
    say('\nNothing more begins; what is under way is graded. Once more: nothing more is sent.');
    ending.abort();
    process.once('SIGINT', interrupt);
  };
  process.once('SIGINT', end).once('SIGTERM', interrupt);
  const clear = () => process.off('SIGINT', end).off('SIGINT', interrupt).off('SIGTERM', interrupt);
  return { ending: ending.signal, interrupted: interruption.signal, clear };
}

async function report(load: LoadRun, options: LoadOptions): Promise<number> {
  const page = join(options.out, 'load.html');
  await mkdir(options.out, { recursive: true });
  await writeFile(page, loadPage(load, options));
  if (options.json !== undefined) {
    await mkdir(dirname(options.json), { recursive: true });
    await writeFile(options.json, `${JSON.stringify(loadJson(load, options), null, 2)}\n`);
  }
  say(`\n${loadLines(load, options).join('\n')}\nThe picture: ${page}`);
  const { findings } = load;
  return showsZeros(findings) && (!options.allScored || allScored(findings)) ? 0 : 1;
}
