import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Failure } from '#src/failure/failure.ts';
import { compileSteps, joinScripts } from './build-steps.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'corral-steps-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const step = (type: string, ...args: string[]) => ({ type, args });
const run = (script: string) =>
  spawnSync('/bin/sh', ['-c', script], {
    cwd: folder,
    encoding: 'utf8',
    env: { PATH: '/usr/bin:/bin', HOME: folder },
  });

test('steps run in their order, with the folder and variables of those before, and leave no quote open', () => {
  const app = join(folder, "an 'app");
  const { script, workdir, needsRoot } = compileSteps([
    step('ENV', 'GREETING', "it's $HOME", 'OTHER', ''),
    step('WORKDIR', app),
    step('RUN', 'echo "$GREETING" > said && pwd >> said'),
    step('RUN', "printf '%s' two >> said"),
  ]);
  expect(run(script).status).toBe(0);
  expect(run(`cat "${app}/said"`).stdout).toBe(`it's $HOME\n${app}\ntwo`);
  expect({ workdir, needsRoot }).toEqual({ workdir: app, needsRoot: false });
});

test('the first step that fails ends them, and its own words come before its name', () => {
  const { script } = compileSteps([
    step('RUN', 'echo no room >&2; exit 7'),
    step('RUN', 'echo more > later'),
  ]);
  const { status, stderr } = run(script);
  expect(status).toBe(1);
  expect(stderr).toBe('no room\n\nbuild step 1 (RUN echo no room >&2; exit 7) ended with exit code 7\n');
  expect(run('ls').stdout).toBe('');
});

test.each([
  ['by its own user', [step('RUN', 'true', 'root')], true],
  ['by the user of a step before', [step('USER', 'root'), step('RUN', 'true')], true],
  ['only for what does not run', [step('USER', 'root'), step('USER', 'user'), step('RUN', 'true')], false],
])('root is needed %s', (_name, steps, needsRoot) => {
  expect(compileSteps(steps).needsRoot).toBe(needsRoot);
});

test('the folders that E2B starts in by itself mean where the image starts', () => {
  expect(compileSteps([step('WORKDIR', '/'), step('USER', 'user'), step('WORKDIR', '/home/user')])).toEqual({
    script: '',
    workdir: null,
    needsRoot: false,
  });
});

test.each([
  ['COPY', [step('COPY', 'a', '/a')], 'build step 1 (COPY a)'],
  ['a user that no sandbox has', [step('RUN', 'true'), step('USER', 'agent')], 'build step 2 (USER agent)'],
  ['a folder without a root', [step('WORKDIR', 'app')], 'build step 1 (WORKDIR app)'],
  ['a variable that is none', [step('ENV', 'A; rm -rf', '')], 'build step 1 (ENV A; rm -rf)'],
  ['a NUL', [step('RUN', 'a\0b')], 'NUL'],
])('%s is refused by its name', (_name, steps, words) => {
  const compile = () => compileSteps(steps);
  expect(compile).toThrow(Failure);
  expect(compile).toThrow(words);
});

test('steps that are longer than what fleet state keeps are refused, also together with those before', () => {
  expect(joinScripts('a', 'b')).toBe('a\nb');
  expect(joinScripts('', 'b')).toBe('b');
  expect(() => joinScripts('a'.repeat(5_000), 'b'.repeat(4_000))).toThrow('8192 characters');
});

test('a long variable before many steps is refused at the first of them, and never repeated for each', () => {
  const steps = [step('ENV', 'A', 'x'.repeat(10_000)), step('RUN', 'true'), step('COPY', 'never read')];
  expect(() => compileSteps(steps)).toThrow('8192 characters');
});
