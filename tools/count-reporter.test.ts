import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';

const root = join(import.meta.dirname, '..');
const folders: string[] = [];

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** Runs vitest on one file with this text; the folder is in the checkout, so that it finds vitest. */
function runVitest(text: string, failedFiles?: string) {
  mkdirSync(join(root, 'out'), { recursive: true });
  const folder = mkdtempSync(join(root, 'out', 'count-reporter-'));
  folders.push(folder);
  writeFileSync(join(folder, 'sample.test.ts'), text);
  writeFileSync(join(folder, 'vitest.config.ts'), `export default {};`);
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  const reporter = join(root, 'tools/count-reporter.ts');
  const args = [vitest, 'run', '--root', folder, '--reporter=default', `--reporter=${reporter}`];
  const env = {
    ...withoutVitest(),
    ...(failedFiles === undefined ? {} : { CORRAL_FAILED_FILES: failedFiles }),
  };
  const run = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8', env });
  return { code: run.status, lastLine: run.stdout.trimEnd().split('\n').at(-1), stdout: run.stdout };
}

const ours = (name: string) => name.startsWith('VITEST') || name === 'CORRAL_FAILED_FILES';

/** A run inside a run must not think that it is one of our workers, nor speak for us. */
function withoutVitest(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !ours(name)));
}

test('passed and failed tests are counted, and a failure keeps its exit code', () => {
  const { code, lastLine } = runVitest(`
    import { test } from 'vitest';
    test('a', () => {});
    test('b', () => {});
    test('c', () => { throw new Error('no'); });
  `);
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
  const { code, lastLine } = runVitest(`
    import { test } from 'vitest';
    test('a', () => { void Promise.reject(new Error('stray')); });
  `);
  expect(lastLine).toBe('1 passed, 1 failed');
  expect(code).toBe(1);
});

test('failed files are named for whoever plays them again, unless an error belongs to none', () => {
  const folder = mkdtempSync(join(tmpdir(), 'count-reporter-'));
  folders.push(folder);
  const [failed, stray] = [join(folder, 'failed'), join(folder, 'stray')];
  const failing = `import { test } from 'vitest'; test('c', () => { throw new Error('no'); });`;
  runVitest(failing, failed);
  expect(readFileSync(failed, 'utf8')).toBe('sample.test.ts\n');
  runVitest(failing.replace('throw', `void Promise.reject(new Error('stray')); throw`), stray);
  expect(existsSync(stray)).toBe(false);
});

test('a run says which files it waited for, so that whoever wants it faster knows where to look', () => {
  const { stdout } = runVitest(`import { test } from 'vitest'; test('a', () => {});`);
  expect(stdout).toMatch(
    /files that took longest, of 1:\n +0\.\d s {2}sample\.test\.ts\n1 passed, 0 failed\n$/,
  );
});
