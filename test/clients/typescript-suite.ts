import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Played, run } from './run.ts';

const root = join(import.meta.dirname, '../..');

/** Plays the tests of the TypeScript client: these arguments are vitest's. `failed`: where it leaves the names of failed files. */
export async function playTypescript(args: readonly string[], failed: string): Promise<Played> {
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  const reporters = ['--reporter=default', '--reporter=./tools/count-reporter.ts'];
  const argv = [vitest, 'run', '--project', 'clients', ...reporters, ...args];
  const { ok, printed } = await run(process.execPath, argv, {
    cwd: root,
    env: { CORRAL_FAILED_FILES: failed },
  });
  const counts = /^(?<passed>\d+) passed, (?<failed>\d+) failed/m.exec(printed)?.groups;
  if (counts === undefined) return { passed: 0, failed: 1, files: null };
  const played = { passed: Number(counts['passed']), failed: Number(counts['failed']) };
  const files = existsSync(failed) ? readFileSync(failed, 'utf8').split('\n').filter(Boolean) : null;
  return ok || played.failed > 0 ? { ...played, files } : { ...played, failed: 1, files: null };
}
