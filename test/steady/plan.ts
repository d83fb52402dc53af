import { parseArgs } from 'node:util';

export type SteadyPlan = { readonly times: number; readonly files: readonly string[] };

/** `--times N [files]`. Throws an error that says how to call it. */
export function readPlan(args: readonly string[]): SteadyPlan {
  const { values, positionals } = parseArgs({
    args: [...args],
    options: { times: { type: 'string', default: '5' } },
    allowPositionals: true,
  });
  const times = Number(values.times);
  if (!Number.isInteger(times) || times < 1)
    throw new Error('usage: npm run test:steady -- --times N [files]; N is a whole number from 1');
  return { times, files: positionals };
}

/** One run of all files. */
export type SteadyRun = { readonly exitCode: number | null; readonly failedFiles: readonly string[] };

/** How often each file failed, most often first; a run that failed without a file that did is listed too. */
export function failures(runs: readonly SteadyRun[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { exitCode, failedFiles } of runs) {
    const names = exitCode !== 0 && failedFiles.length === 0 ? ['(outside every file)'] : failedFiles;
    for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return new Map([...counts].toSorted(([, one], [, other]) => other - one));
}

/** The last lines of a report. */
export function summary(runs: readonly SteadyRun[]): readonly string[] {
  const failed = [...failures(runs)].map(
    ([file, count]) => `${String(count).padStart(4)} of ${runs.length}  ${file}`,
  );
  if (failed.length === 0) return [`no file failed in ${runs.length} runs`];
  return ['files that failed, and in how many runs:', ...failed];
}
