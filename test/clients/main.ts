import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { measure } from './bench.ts';
import { findPython } from '#infra/python/find-python.ts';
import { type Counts, type Played, run } from './run.ts';
import { choose, client, core, isFile, type Suite, suiteOf } from './suites.ts';
import { virtualEnvironment } from '#infra/python/virtual-environment.ts';

/*
 * Both clients as a trainer gets them: the Python client built, installed, checked and tested against a real fleet on this machine,
 * by itself and with each framework that it has an adapter for, and the TypeScript client. The last lines are the counts of each suite
 * with its time, and of everything, as `npm test` has it. Arguments choose suites and go to pytest; `--bench` measures instead.
 */

const root = join(import.meta.dirname, '../..');
const pyright = join(root, 'node_modules/pyright/index.js');
/** Tests mostly wait: for a command, for half a minute without capacity, for a lease. Each has a fleet of its own. */
const mostAtOnce = 3;

type Named = Pick<Suite, 'name'>;
type Task = { readonly suite: Named; readonly name: string; readonly play: () => Promise<Played> };
const typescript: Named = { name: 'typescript' };

const args = process.argv.slice(2);
// Sandboxes under test have two user ids, which only root may hand out.
if (process.getuid?.() !== 0) {
  process.stderr.write('clients: the tests start sandboxes, which needs root: sudo npm run test:clients\n');
  process.exit(1);
}
const scratch = mkdtempSync(join(tmpdir(), 'corral-clients-'));
try {
  process.exitCode = await main();
} catch (error) {
  process.stderr.write(`clients: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

async function main(): Promise<number> {
  const builder = pythonOf(core);
  const installed = install(builder);
  if (args[0] === '--bench') return (await measure(builder, installed, args.slice(1))) ? 0 : 1;
  const { suites, rest, ofTypescript } = choose(args);
  if (args.includes('--all')) process.env['CORRAL_SEEDS'] = '20';
  // Installed one after the other, before anybody's time counts.
  const pythons = new Map(suites.map((suite) => [suite, pythonOf(suite)]));
  const tasks = [
    ...(ofTypescript === null ? [] : [typescriptTask(ofTypescript)]),
    ...suites.flatMap((suite) => tasksOf(suite, rest, pythons.get(suite) ?? builder, installed)),
  ];
  const played = await atOnce(tasks);
  for (const suite of new Set(tasks.map((task) => task.suite))) tell(suite, played);
  const all = played.map(([, one]) => one);
  noteFailedFiles(all);
  const { passed, failed } = sum(all);
  process.stdout.write(`${passed} passed, ${failed} failed\n`);
  return failed === 0 ? 0 : 1;
}

function typescriptTask(args: readonly string[]): Task {
  const play = () => playTypescript(args, join(scratch, 'failed-typescript'));
  return { suite: typescript, name: 'tests', play };
}

/** Plays the tests of the TypeScript client: these arguments are vitest's. `failed`: where it leaves the names of failed files. */
async function playTypescript(args: readonly string[], failed: string): Promise<Played> {
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

function pythonOf({ oldest, lock }: Suite): string {
  return virtualEnvironment(findPython(oldest), lock);
}

/** Builds the package as it would be published and installs it beside the environments; what is tested is what is shipped. */
function install(python: string): string {
  const into = join(scratch, 'installed');
  const wheels = join(scratch, 'wheels');
  const pip = ['-m', 'pip', '--disable-pip-version-check'];
  const offline = ['--quiet', '--no-deps', '--no-index'];
  const build = [...pip, 'wheel', ...offline, '--no-build-isolation', '-w', wheels, client];
  const place = [...pip, 'install', ...offline, '--find-links', wheels, '--target', into, 'corral'];
  for (const argv of [build, place]) {
    const { status } = spawnSync(python, argv, { stdio: ['ignore', 'inherit', 'inherit'] });
    if (status !== 0) throw new Error('the package cannot be built; see above');
  }
  return into;
}

/** What is slowest first, so that it ends no later than it must. Where somebody names tests, nothing else is looked at. */
function tasksOf(suite: Suite, rest: readonly string[], python: string, installed: string): readonly Task[] {
  const task = (name: string, play: () => Promise<Played>): Task => ({ suite, name, play });
  if (rest.length > 0) {
    const own = rest.filter((arg) => !isFile(arg) || suiteOf(arg) === suite);
    const named = own.some(isFile) ? own : [suite.tests, ...own];
    return [task('tests', () => tests(named, python, installed))];
  }
  const parts = suite.parts.map((part, index) =>
    task(`tests ${index + 1}`, () => tests(part, python, installed)),
  );
  const ruff = (...argv: readonly string[]) => checked(python, ['-m', 'ruff', ...argv, '--no-cache', '.']);
  const style = [
    task('format', () => ruff('format', '--quiet', '--diff')),
    task('lint', () => ruff('check', '--quiet')),
  ];
  return [...parts, ...(suite === core ? style : []), task('types', () => types(suite, python, installed))];
}

/** Plays them in their order, so many at a time, and shows what each has said when it ends. */
async function atOnce(tasks: readonly Task[]): Promise<readonly (readonly [Task, Played & Took])[]> {
  const left = [...tasks];
  const played: (readonly [Task, Played & Took])[] = [];
  const worker = async () => {
    for (let task = left.shift(); task !== undefined; task = left.shift()) {
      const startedMs = performance.now();
      const one = await task.play();
      const tookMs = performance.now() - startedMs;
      const how = one.failed === 0 ? 'passed' : 'failed';
      const name = `${task.suite.name}: ${task.name}`;
      process.stderr.write(`clients: ${name} ${how}, ${(tookMs / 1000).toFixed(1)} s\n`);
      played.push([task, { ...one, tookMs }]);
    }
  };
  await Promise.all(Array.from({ length: mostAtOnce }, worker));
  return played;
}

type Took = { readonly tookMs: number };

function tell(suite: Named, played: readonly (readonly [Task, Played & Took])[]): void {
  const own = played.filter(([task]) => task.suite === suite).map(([, one]) => one);
  const { passed, failed } = sum(own);
  const tookS = own.reduce((all, { tookMs }) => all + tookMs, 0) / 1000;
  process.stdout.write(`clients: ${suite.name}: ${passed} passed, ${failed} failed, ${tookS.toFixed(1)} s\n`);
}

function types({ types: project }: Suite, python: string, installed: string): Promise<Played> {
  return checked(process.execPath, [pyright, '--project', project, '--pythonpath', python], installed);
}

async function checked(program: string, argv: readonly string[], installed?: string): Promise<Played> {
  const { ok } = await inPython(program, argv, installed === undefined ? {} : { PYTHONPATH: installed });
  return ok ? { passed: 1, failed: 0, files: [] } : { passed: 0, failed: 1, files: null };
}

async function tests(wanted: readonly string[], python: string, installed: string): Promise<Played> {
  const counts = join(scratch, `${randomUUID()}.json`);
  const given = { PYTHONPATH: installed, CORRAL_COUNTS: counts };
  const { ok } = await inPython(python, ['-m', 'pytest', ...wanted], given);
  try {
    const told = JSON.parse(readFileSync(counts, 'utf8')) as Counts & { readonly files: readonly string[] };
    // pytest may fail of what is no test: a file that cannot be read, nothing that was found.
    return ok || told.failed > 0 ? told : { ...told, failed: 1, files: null };
  } catch {
    return { passed: 0, failed: 1, files: null };
  }
}

/** As `tools/count-reporter.ts` does: what failed in a few files may be played once more by itself. */
function noteFailedFiles(played: readonly Played[]): void {
  const file = process.env['CORRAL_FAILED_FILES'];
  if (file === undefined || played.some(({ files }) => files === null)) return;
  const names = new Set(played.flatMap(({ files }) => files ?? []));
  writeFileSync(file, [...names].map((name) => `${name}\n`).join(''));
}

function sum(counts: readonly Counts[]): Counts {
  return {
    passed: counts.reduce((all, { passed }) => all + passed, 0),
    failed: counts.reduce((all, { failed }) => all + failed, 0),
  };
}

function inPython(program: string, argv: readonly string[], env: Readonly<Record<string, string>>) {
  return run(program, argv, { cwd: client, env: { PYTHONDONTWRITEBYTECODE: '1', ...env } });
}
