import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findPython } from './find-python.ts';
import { choose, client, core, type Suite } from './suites.ts';
import { virtualEnvironment } from './virtual-environment.ts';

/*
 * The Python client as a trainer gets it: built, installed, checked and tested against a real fleet on this machine, by itself
 * and beside each framework that it has an adapter for. The last lines are the counts of each suite with its time, and of
 * everything, as `npm test` has it. Arguments choose suites and go to pytest; `--bench` measures instead.
 */

const pyright = join(import.meta.dirname, '../../node_modules/pyright/index.js');

type Counts = { readonly passed: number; readonly failed: number };

const args = process.argv.slice(2);
// Sandboxes under test have two user ids, which only root may hand out.
if (process.getuid?.() !== 0) {
  process.stderr.write('clients: the tests start sandboxes, which needs root: sudo npm run test:clients\n');
  process.exit(1);
}
const scratch = mkdtempSync(join(tmpdir(), 'corral-clients-'));
try {
  process.exitCode = main();
} catch (error) {
  process.stderr.write(`clients: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

function main(): number {
  const builder = pythonOf(core);
  const installed = install(builder);
  if (args[0] === '--bench') {
    const bench = join(client, 'bench/overhead.py');
    return run('bench', builder, [bench, ...args.slice(1)], { PYTHONPATH: installed }) ? 0 : 1;
  }
  const chosen = choose(args);
  const counts = chosen.suites.map((suite) => play(suite, chosen.rest, builder, installed));
  const { passed, failed } = sum(counts);
  process.stdout.write(`${passed} passed, ${failed} failed\n`);
  return failed === 0 ? 0 : 1;
}

function pythonOf({ oldest, lock }: Suite): string {
  return virtualEnvironment(findPython(oldest), lock);
}

/** Each framework's packages are installed when its turn comes: that time is its own. */
function play(suite: Suite, rest: readonly string[], builder: string, installed: string): Counts {
  const startedMs = performance.now();
  const python = suite === core ? builder : pythonOf(suite);
  const counts = sum([
    ...(rest.length === 0 ? [...(suite === core ? style(python) : []), types(suite, python, installed)] : []),
    tests(suite, rest, python, installed),
  ]);
  const tookS = ((performance.now() - startedMs) / 1000).toFixed(1);
  process.stdout.write(
    `clients: ${suite.name}: ${counts.passed} passed, ${counts.failed} failed, ${tookS} s\n`,
  );
  return counts;
}

/** Builds the package as it would be published and installs it beside the environments; what is tested is what is shipped. */
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

/** Format and lint of everything, each counted as one. */
function style(python: string): Counts[] {
  return [
    one(run('format', python, ['-m', 'ruff', 'format', '--quiet', '--diff', '--no-cache', '.'])),
    one(run('lint', python, ['-m', 'ruff', 'check', '--quiet', '--no-cache', '.'])),
  ];
}

function types({ name, types: project }: Suite, python: string, installed: string): Counts {
  const argv = [pyright, '--project', project, '--pythonpath', python];
  return one(run(`types of ${name}`, process.execPath, argv, { PYTHONPATH: installed }));
}

function tests(suite: Suite, rest: readonly string[], python: string, installed: string): Counts {
  const counts = join(scratch, `${suite.name}.json`);
  const argv = ['-m', 'pytest', ...(rest.some(isPath) ? [] : [suite.tests]), ...rest];
  const passed = run(`tests of ${suite.name}`, python, argv, {
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

function isPath(arg: string): boolean {
  return arg.startsWith('tests/');
}

function one(passed: boolean): Counts {
  return passed ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 };
}

function sum(counts: readonly Counts[]): Counts {
  return {
    passed: counts.reduce((all, { passed }) => all + passed, 0),
    failed: counts.reduce((all, { failed }) => all + failed, 0),
  };
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
