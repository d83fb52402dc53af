import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';

const root = join(import.meta.dirname, '..');
const folders: string[] = [];

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** Runs vitest on one file with this text; the folder is in the checkout, so that it finds vitest. */
function runVitest(text: string) {
  mkdirSync(join(root, 'out'), { recursive: true });
  const folder = mkdtempSync(join(root, 'out', 'count-reporter-'));
  folders.push(folder);
  writeFileSync(join(folder, 'sample.test.ts'), text);
  writeFileSync(join(folder, 'vitest.config.ts'), `export default {};`);
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  const reporter = join(root, 'tools/count-reporter.ts');
  const args = [vitest, 'run', '--root', folder, '--reporter=default', `--reporter=${reporter}`];
  const run = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8', env: withoutVitest() });
  return { code: run.status, lastLine: run.stdout.trimEnd().split('\n').at(-1), stderr: run.stderr };
}

/** A run inside a run must not think that it is one of our workers. */
function withoutVitest(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('VITEST')));
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
