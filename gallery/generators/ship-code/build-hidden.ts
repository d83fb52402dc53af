import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Defect, everyDefect } from './defects.ts';
import { copyDependencies, packagesFolder, versionFolder } from './packages.ts';
import { observe, type Seen } from './bench/observe.ts';
import { stripAnswers } from './strip-answers.mjs';

/*
 * Builds what only graders have: for each defect its stripped tests, and what their assertions saw in the published fix. Tests that pass before count
 * as well, so that a fix which breaks them is none.
 */

const data = process.env['CORRAL_DATA'] ?? '';
copyDependencies(join(data, 'node_modules'));
copyFileSync(process.execPath, join(data, 'node'));
cpSync(join(import.meta.dirname, 'bench'), join(data, 'bench'), { recursive: true });
const waiting = [...everyDefect];

async function work(): Promise<void> {
  for (let defect = waiting.shift(); defect !== undefined; defect = waiting.shift()) await build(defect);
}

async function build(defect: Defect): Promise<void> {
  const folder = join(data, 'defects', defect.id);
  const own = join(folder, 'own');
  mkdirSync(own, { recursive: true });
  const fixed = versionFolder(defect, defect.to);
  const base = versionFolder(defect, defect.from);
  copyTests(join(fixed, 'test'), join(own, 'test'), defect.file);
  copyFileSync(join(base, 'package.json'), join(own, 'package.json'));
  if (existsSync(join(base, 'node_modules')))
    cpSync(join(base, 'node_modules'), join(own, 'node_modules'), { recursive: true });
  // Twice, because what differs by chance can be asked of nothing.
  const runs = [await observed(fixed, own, defect), await observed(fixed, own, defect)];
  const before = await observed(base, own, defect);
  writeFileSync(
    join(folder, 'expected.json'),
    JSON.stringify({ file: defect.file, expected: expectedOf(defect, runs, before) }),
  );
}

/** Helpers and fixtures as they are, of the tests only the one that is played, without what it expects. */
function copyTests(from: string, to: string, file: string): void {
  mkdirSync(to);
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const isHelper = entry.isDirectory() || !entry.name.endsWith('.test.js');
    if (isHelper) cpSync(join(from, entry.name), join(to, entry.name), { recursive: true });
  }
  writeFileSync(join(to, file), stripAnswers(readFileSync(join(from, file), 'utf8')));
}

async function observed(version: string, own: string, { file }: Defect): Promise<Seen> {
  const folder = mkdtempSync(join(tmpdir(), 'observed-'));
  const place = join(folder, 'package');
  cpSync(version, place, { recursive: true });
  cpSync(own, place, { recursive: true });
  symlinkSync(packagesFolder, join(folder, 'node_modules'));
  return observe(
    [process.execPath, join(import.meta.dirname, 'bench/run-tests.cjs'), join(place, 'test'), file],
    place,
  );
}

const same = (one: readonly string[] | undefined, other: readonly string[] | undefined): boolean =>
  JSON.stringify(one) === JSON.stringify(other);

function expectedOf({ id, fails }: Defect, [fixed = {}, again = {}]: readonly Seen[], before: Seen): Seen {
  for (const name of fails) {
    if (fixed[name] === undefined || !same(fixed[name], again[name]))
      throw new Error(`${id}: "${name}" is not steady`);
    if (same(fixed[name], before[name])) throw new Error(`${id}: "${name}" passes without the fix`);
  }
  const counts = (name: string) =>
    fails.includes(name) || (same(fixed[name], again[name]) && same(fixed[name], before[name]));
  return Object.fromEntries(Object.entries(fixed).filter(([name]) => counts(name)));
}

await Promise.all(Array.from({ length: availableParallelism() }, work));
process.stdout.write(`${everyDefect.length} hidden tests\n`);
