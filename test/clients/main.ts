import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findPython } from './find-python.ts';
import { virtualEnvironment } from './virtual-environment.ts';

/*
 * The Python client as a trainer gets it: built, installed, checked and tested against a real fleet on this machine. The last
 * line is the count of everything, as `npm test` has it. Arguments go to pytest; `--bench` measures instead.
 */

const root = join(import.meta.dirname, '../..');
const client = join(root, 'clients/python');

type Counts = { readonly passed: number; readonly failed: number };

const args = process.argv.slice(2);
// Sandboxes under test have two user ids, which only root may hand out.
if (process.getuid?.() !== 0) {
  process.stderr.write('clients: the tests start sandboxes, which needs root: sudo npm run test:clients\n');
  process.exit(1);
}
const scratch = mkdtempSync(join(tmpdir(), 'corral-clients-'));
try {
  process.exitCode = main(virtualEnvironment(findPython(), join(client, 'locks/core.txt')));
} catch (error) {
  process.stderr.write(`clients: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

function main(python: string): number {
  const installed = install(python);
  if (args[0] === '--bench') {
    const bench = join(client, 'bench/overhead.py');
    return run('bench', python, [bench, ...args.slice(1)], { PYTHONPATH: installed }) ? 0 : 1;
  }
  const parts = [...(args.length === 0 ? checks(python) : []), tests(python, installed)];
  const passed = parts.reduce((sum, part) => sum + part.passed, 0);
  const failed = parts.reduce((sum, part) => sum + part.failed, 0);
  process.stdout.write(`${passed} passed, ${failed} failed\n`);
  return failed === 0 ? 0 : 1;
}

/** Builds the package as it would be published and installs it beside the environment; what is tested is what is shipped. */
function install(python: string): string {
  const into = join(scratch, 'installed');
  const wheels = join(scratch, 'wheels');
  const pip = ['-m', 'pip', '--disable-pip-version-check'];
  const offline = ['--quiet', '--no-deps', '--no-index'];
  const built = run('build', python, [
    ...pip,
    'wheel',
    ...offline,
    '--no-build-isolation',
    '-w',
    wheels,
    client,
  ]);
  const found = ['--find-links', wheels, '--target', into, 'corral'];
  if (!built || !run('install', python, [...pip, 'install', ...offline, ...found])) {
    throw new Error('the package cannot be built; see above');
  }
  return into;
}

/** Format, lint and types, each counted as one. */
function checks(python: string): Counts[] {
  const pyright = join(root, 'node_modules/pyright/index.js');
  return [
    run('format', python, ['-m', 'ruff', 'format', '--quiet', '--diff', '--no-cache', '.']),
    run('lint', python, ['-m', 'ruff', 'check', '--quiet', '--no-cache', '.']),
    run('types', process.execPath, [pyright, '--project', client, '--pythonpath', python]),
  ].map((passed) => (passed ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 }));
}

function tests(python: string, installed: string): Counts {
  const counts = join(scratch, 'counts.json');
  const passed = run('tests', python, ['-m', 'pytest', ...args], {
    PYTHONPATH: installed,
    CORRAL_COUNTS: counts,
  });
  try {
    const told = JSON.parse(readFileSync(counts, 'utf8')) as Counts;
    // pytest may fail of what is no test: a file that cannot be read, nothing that was found.
    return passed || told.failed > 0 ? told : { ...told, failed: 1 };
  } catch {
    return { passed: 0, failed: 1 };
  }
}

function run(name: string, program: string, argv: readonly string[], env: Record<string, string> = {}) {
  const startedMs = performance.now();
  const { status } = spawnSync(program, argv, {
    cwd: client,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, PYTHONDONTWRITEBYTECODE: '1', ...env },
  });
  const tookS = ((performance.now() - startedMs) / 1000).toFixed(1);
  process.stderr.write(`clients: ${name} ${status === 0 ? 'passed' : `failed (${status})`}, ${tookS} s\n`);
  return status === 0;
}
