import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';

const root = join(import.meta.dirname, '..');
const folders: string[] = [];

afterAll(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** Runs vitest on one file with this text; the folder is in the checkout, so that it finds vitest. */
function runVitest(text: string) {
  mkdirSync(join(root, 'out'), { recursive: true });
  const folder = mkdtempSync(join(root, 'out', 'count-reporter-'));
  folders.push(folder);
  writeFileSync(join(folder, 'sample.test.ts'), text);
  writeFileSync(join(folder, 'vitest.config.ts'), `export default {};`);
  const failedFiles = join(folder, 'failed-files');
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  const reporter = join(root, 'tools/count-reporter.ts');
  const args = [vitest, 'run', '--root', folder, '--reporter=default', `--reporter=${reporter}`];
  const env = { ...withoutVitest(), CORRAL_FAILED_FILES: failedFiles };
  const run = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8', env });
  return {
    code: run.status,
    lastLine: run.stdout.trimEnd().split('\n').at(-1),
    stdout: run.stdout,
    failedFiles: existsSync(failedFiles) ? readFileSync(failedFiles, 'utf8') : null,
  };
}

/** A run inside a run must not take itself for a worker of the outer run. */
function withoutVitest(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('VITEST')));
}

/** Several tests read these runs: a start of vitest is most of what this file costs. */
const failing = runVitest(`
  import { test } from 'vitest';
  test('a', () => {});
  test('b', () => {});
  test('c', () => { throw new Error('no'); });
`);
const stray = runVitest(`
  import { test } from 'vitest';
  test('a', () => { void Promise.reject(new Error('stray')); });
`);

test('passed and failed tests are counted, and a failure keeps its exit code', () => {
  const { code, lastLine } = failing;
  expect(lastLine).toBe('2 passed, 1 failed');
  expect(code).toBe(1);
});

test('skipped tests are counted, so that a green run shows them', () => {
  const { code, lastLine } = runVitest(`
    import { test } from 'vitest';
    test('a', () => {});
    test.skipIf(true)('b', () => {});
  `);
  expect(lastLine).toBe('1 passed, 0 failed, 1 skipped');
  expect(code).toBe(0);
});

test('a file that cannot be loaded is one failure', () => {
  const { code, lastLine } = runVitest(`throw new Error('cannot load');`);
  expect(lastLine).toBe('0 passed, 1 failed');
  expect(code).toBe(1);
});

test('an error outside every test is a failure although all tests passed', () => {
  const { code, lastLine } = stray;
  expect(lastLine).toBe('1 passed, 1 failed');
  expect(code).toBe(1);
});

test('failed files are named for a second run, and the file in which an error came outside every test', () => {
  expect(failing.failedFiles).toBe('sample.test.ts\n');
  expect(stray.failedFiles).toBe('sample.test.ts\n');
});

test('a run ends with the files that took longest', () => {
  expect(failing.stdout).toMatch(
    /files that took longest, of 1:\n +\d+\.\d s {2}sample\.test\.ts\n2 passed, 1 failed\n$/,
  );
});
