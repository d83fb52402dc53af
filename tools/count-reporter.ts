import { writeFileSync } from 'node:fs';
import type { Reporter, TestModule } from 'vitest/node';

type StrayError = Parameters<NonNullable<Reporter['onTestRunEnd']>>[1][number];

type Counts = { readonly passed: number; readonly failed: number; readonly skipped: number };

/** A file that could not be loaded counts as one failure: no test of it ran. */
function countModule(module: TestModule): Counts {
  const failed = [...module.children.allTests('failed')].length;
  const passed = [...module.children.allTests('passed')].length;
  const skipped = [...module.children.allTests('skipped')].length;
  return { passed, failed: failed === 0 && module.state() === 'failed' ? 1 : failed, skipped };
}

/** Errors outside every test (an unhandled rejection, a crashed worker) are failures too. */
function countTests(modules: readonly TestModule[], strayErrors: number): Counts {
  return modules.map(countModule).reduce(
    (total, part) => ({
      passed: total.passed + part.passed,
      failed: total.failed + part.failed,
      skipped: total.skipped + part.skipped,
    }),
    { passed: 0, failed: strayErrors, skipped: 0 },
  );
}

/** Where the names of failed files are left, one a line, for a second run. Nothing is left if an error belongs to no file. */
const failedFiles = process.env['CORRAL_FAILED_FILES'];

function nameFailed(modules: readonly TestModule[], strayErrors: readonly StrayError[], path: string): void {
  // vitest adds the file that its worker played when the error came.
  const during = new Set(strayErrors.map((error) => error['VITEST_TEST_PATH']));
  if (during.has(undefined)) return;
  const failed = modules.filter((module) => countModule(module).failed > 0 || during.has(module.moduleId));
  writeFileSync(path, failed.map(({ relativeModuleId }) => `${relativeModuleId}\n`).join(''));
}

/** How many files a run names as those that it waited for longest: where to look when a suite no longer fits its time. */
const slowestFiles = 12;

function slowest(modules: readonly TestModule[]): string {
  const timed = modules.map((module) => ({ module, tookMs: durationMs(module) }));
  const lines = timed
    .sort((one, other) => other.tookMs - one.tookMs)
    .slice(0, slowestFiles)
    .map(({ module, tookMs }) => `${(tookMs / 1000).toFixed(1).padStart(7)} s  ${module.relativeModuleId}\n`);
  return `The files that took longest, of ${timed.length}:\n${lines.join('')}`;
}

function durationMs(module: TestModule): number {
  const { collectDuration, duration } = module.diagnostic();
  return collectDuration + duration;
}

/** Ends a run with the slowest files and one line that a script can read: `12 passed, 0 failed`, and skipped tests if there are any. */
// vitest makes a reporter that is named by its path from the default export of the file.
export default class CountReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly StrayError[]): void {
    const { passed, failed, skipped } = countTests(modules, errors.length);
    if (failedFiles !== undefined) nameFailed(modules, errors, failedFiles);
    process.stdout.write(
      `${slowest(modules)}${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}\n`,
    );
  }
}
