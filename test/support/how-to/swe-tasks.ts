import { execFile } from 'node:child_process';
import { copyFile, cp, mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { saveTaskImage } from './task-image.ts';

/*
 * Two fixes of the library parse (MIT license) as tasks in the form of SWE-bench: the repository is the previous release, patch and hidden
 * tests are what the next release changed. Its releases come from PyPI, see infra/images/tasks.
 */

/** An instance of the published dataset: the lists are JSON texts there. */
export type SweInstance = {
  readonly instance_id: string;
  readonly problem_statement: string;
  readonly patch: string;
  readonly test_patch: string;
  readonly FAIL_TO_PASS: string;
  readonly PASS_TO_PASS: string;
};

export type SweTask = {
  readonly instance: SweInstance;
  /** As `docker save` writes it; its name in there is `corral.local/swe/ID:1`. */
  readonly archive: string;
};

type Fix = {
  readonly before: string;
  readonly after: string;
  readonly problem: string;
  readonly fixes: readonly string[];
};

const fixes: readonly Fix[] = [
  {
    before: '1.20.1',
    after: '1.20.2',
    problem: 'Field names with a hyphen, such as {user-id}, are not recognized in templates.',
    fixes: ['test_hyphen_inside_field_name', 'test_hyphen_inside_field_name_collision_handling'],
  },
  {
    before: '1.20.0',
    after: '1.20.1',
    problem:
      'The directive %f takes exactly six digits, but strptime takes one to six. A parser should also have a property format.',
    fixes: ['test_datetime_with_various_subsecond_precision', 'test_parser_format'],
  },
];

/** Tests that pass before and after. */
const kept = [
  'tests/test_bugs.py::test_pickling_bug_110',
  'tests/test_parse.py::test_named_typed',
  'tests/test_parse.py::test_numbers',
  'tests/test_pattern.py::test_dot_separated_fields_name_collisions',
  'tests/test_search.py::test_multiline',
];

const run = promisify(execFile);
const author = ['-c', 'user.name=Author', '-c', 'user.email=author@example.com', '-c', 'safe.directory=*'];

/** Makes the tasks and their images below a folder, from the files of `taskFiles()`. */
export async function makeSweTasks(files: string, folder: string): Promise<readonly SweTask[]> {
  const tasks: SweTask[] = [];
  for (const fix of fixes) tasks.push(await makeTask(files, folder, fix));
  return tasks;
}

async function makeTask(files: string, folder: string, fix: Fix): Promise<SweTask> {
  const id = `r1chardj0n3s__parse-${fix.after}`;
  const repository = join(folder, id, 'testbed');
  const git = async (...args: readonly string[]) =>
    (await run('git', [...author, '-C', repository, ...args])).stdout;
  await mkdir(join(folder, id));
  await cp(join(files, `parse-${fix.before}`), repository, { recursive: true });
  await git('init', '-q');
  await git('add', '-A', '-f');
  await git('commit', '-q', '-m', fix.before);
  const layer = join(folder, `${id}.layer.tar`);
  const owned = ['--owner=0', '--group=0', '--numeric-owner'];
  await run('tar', [...owned, '-cf', layer, '-C', join(folder, id), 'testbed']);
  const { patch, tests } = await changesOf(join(files, `parse-${fix.after}`), repository, git);
  await rm(join(folder, id), { recursive: true });
  const image = {
    name: `corral.local/swe/${id.toLowerCase()}:1`,
    layers: [join(files, 'base.tar'), layer],
    config: {
      WorkingDir: '/testbed',
      Env: ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'],
    },
  };
  const named = fix.fixes.map((test) => `tests/test_parse.py::${test}`);
  const instance = {
    instance_id: id,
    problem_statement: fix.problem,
    patch,
    test_patch: tests,
    FAIL_TO_PASS: JSON.stringify(named),
    PASS_TO_PASS: JSON.stringify(kept),
  };
  return { instance, archive: await saveTaskImage(folder, image) };
}

/** What the next release changed: of the library, and of its tests. */
async function changesOf(
  after: string,
  repository: string,
  git: (...args: readonly string[]) => Promise<string>,
) {
  await copyFile(join(after, 'parse.py'), join(repository, 'parse.py'));
  for (const name of await readdir(join(after, 'tests')))
    await copyFile(join(after, 'tests', name), join(repository, 'tests', name));
  return { patch: await git('diff', '--', 'parse.py'), tests: await git('diff', '--', 'tests') };
}
