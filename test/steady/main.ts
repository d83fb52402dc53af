import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, openSync, closeSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { readPlan, type SteadyRun, summary } from './plan.ts';

/*
 * `npm run test:steady -- --times N [files]`: plays tests N times while two loops keep two cores busy, and prints the files that
 * ever failed. Without files: `npm test` as a whole. Each run's output is in `out/steady`.
 */

const repository = join(import.meta.dirname, '../..');
const folder = join(repository, 'out/steady');
const busyLoops = 2;

function startBusyLoop(): ChildProcess {
  const argv = ['--pdeathsig', 'KILL', '--', process.execPath, '-e', 'for (;;);'];
  return spawn('setpriv', argv, { stdio: 'ignore' });
}

async function playOnce(run: number, files: readonly string[]): Promise<SteadyRun> {
  const failedList = join(folder, `run-${run}.failed`);
  rmSync(failedList, { force: true });
  const output = openSync(join(folder, `run-${run}.log`), 'w');
  const child = spawn('sh', [join(repository, 'setup/test.sh'), ...files], {
    stdio: ['ignore', output, output],
    env: { ...process.env, CORRAL_FAILED_FILES: failedList },
  });
  closeSync(output);
  const [exitCode] = (await once(child, 'exit')) as [number | null];
  return { exitCode, failedFiles: linesOf(failedList) };
}

/** Nothing is there if the run ended before it could write. */
function linesOf(path: string): readonly string[] {
  try {
    return readFileSync(path, 'utf8').split('\n').filter(Boolean);
  } catch {
    return [];
  }
}

async function main(): Promise<void> {
  const { times, files } = readPlan(process.argv.slice(2));
  mkdirSync(folder, { recursive: true });
  const loops = Array.from({ length: busyLoops }, startBusyLoop);
  process.once('exit', () => loops.forEach((loop) => loop.kill('SIGKILL')));
  const runs: SteadyRun[] = [];
  for (let run = 1; run <= times; run += 1) {
    const startedMs = performance.now();
    const { exitCode, failedFiles } = await playOnce(run, files);
    runs.push({ exitCode, failedFiles });
    const seconds = ((performance.now() - startedMs) / 1_000).toFixed(0);
    const result =
      exitCode === 0 ? 'passed' : `failed (see out/steady/run-${run}.log): ${failedFiles.join(' ')}`;
    console.log(`run ${run} of ${times}: ${seconds} s, ${result}`);
  }
  for (const line of summary(runs)) console.log(line);
  process.exit(runs.every(({ exitCode }) => exitCode === 0) ? 0 : 1);
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
await main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : String(error));
  process.exit(2);
});
