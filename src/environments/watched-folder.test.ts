import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { environmentFolder } from '#test/support/environment-folder.ts';
import { environmentName } from '../model/ids.ts';
import { WatchedFolder } from './watched-folder.ts';

const shell = (description: string) => `
name: shell
description: ${description}
sandbox: { image: host }
tools: { shell: { builtin: shell } }
grader: { kind: text, reference: item.answer }
`;

const descriptionIn = ({ catalog }: WatchedFolder) => catalog.newest(environmentName('shell'))?.description;

test('a change is taken when a second look finds it unchanged, and not while it is still being written', async () => {
  await using folder = await environmentFolder({ 'shell.yaml': shell('one') });
  const file = join(folder.path, 'shell.yaml');
  const watched = await WatchedFolder.open(folder.path, null);
  expect(await watched.look()).toBe('same');
  await writeFile(file, shell('half'));
  expect(await watched.look()).toBe('same');
  await writeFile(file, shell('two'));
  expect(await watched.look()).toBe('same');
  expect(descriptionIn(watched)).toBe('one');
  expect(await watched.look()).toBe('changed');
  expect(descriptionIn(watched)).toBe('two');
  expect(await watched.look()).toBe('same');
});

test('a file with a mistake changes nothing, is told once, and is over when it is fixed', async () => {
  await using folder = await environmentFolder({ 'shell.yaml': shell('one') });
  const file = join(folder.path, 'shell.yaml');
  const watched = await WatchedFolder.open(folder.path, null);
  await writeFile(file, `${shell('two')}\nlimits: { tool_calls: none }\n`);
  const seen = [await watched.look(), await watched.look(), await watched.look(), await watched.look()];
  expect(seen).toEqual(['same', 'mistaken', 'same', 'same']);
  expect(watched.mistake?.message).toContain('limits.tool_calls');
  expect(descriptionIn(watched)).toBe('one');
  await writeFile(file, shell('two'));
  expect([await watched.look(), await watched.look()]).toEqual(['same', 'changed']);
  expect(watched.mistake).toBeNull();
  expect(descriptionIn(watched)).toBe('two');
});

test('a folder that is emptied changes nothing', async () => {
  await using folder = await environmentFolder({ 'shell.yaml': shell('one') });
  const watched = await WatchedFolder.open(folder.path, null);
  await rm(join(folder.path, 'shell.yaml'));
  expect([await watched.look(), await watched.look()]).toEqual(['same', 'mistaken']);
  expect(descriptionIn(watched)).toBe('one');
});

test('a mounted ConfigMap is followed when the kubelet swaps its links', async () => {
  await using folder = await environmentFolder({ '..v1/shell.yaml': shell('one') });
  const at = (name: string) => join(folder.path, name);
  await symlink('..v1', at('..data'));
  await symlink('..data/shell.yaml', at('shell.yaml'));
  const watched = await WatchedFolder.open(folder.path, null);
  await mkdir(at('..v2'));
  await writeFile(at('..v2/shell.yaml'), shell('two'));
  await symlink('..v2', at('..data_tmp'));
  await rename(at('..data_tmp'), at('..data'));
  await rm(at('..v1'), { recursive: true });
  expect([await watched.look(), await watched.look()]).toEqual(['same', 'changed']);
  expect(descriptionIn(watched)).toBe('two');
});

const graded = `
name: graded
sandbox: { image: host }
tools: { shell: { builtin: shell } }
grader:
  kind: command
  command: [sh, -c, 'sh "$CORRAL_GRADER_DIR/check.sh"']
  files: { check.sh: { file: graders/check.sh } }
  timeout: 1m
  on_exit: 0
  on_timeout: 0
  on_out_of_memory: 0
  on_broken: 0
`;

test('a file that a grader names is part of the folder', async () => {
  await using folder = await environmentFolder({ 'graded.yaml': graded, 'graders/check.sh': 'echo 1' });
  const watched = await WatchedFolder.open(folder.path, null);
  const before = watched.catalog.all()[0]?.version;
  await writeFile(join(folder.path, 'graders/check.sh'), 'echo 0');
  expect([await watched.look(), await watched.look()]).toEqual(['same', 'changed']);
  expect(watched.catalog.all()[0]?.version).not.toBe(before);
});

test('a policy that refuses an environment changes nothing, and one that all fit is in force at once', async () => {
  await using folder = await environmentFolder({ 'shell.yaml': shell('one') });
  await using policies = await environmentFolder({ 'policy.yaml': 'ceilings: { memory: 512Mi }' });
  const policy = join(policies.path, 'policy.yaml');
  const watched = await WatchedFolder.open(folder.path, policy);
  await writeFile(policy, 'ceilings: { memory: 1Mi }');
  expect([await watched.look(), await watched.look()]).toEqual(['same', 'mistaken']);
  expect(watched.mistake?.message).toContain("the operator's ceiling");
  await writeFile(policy, 'images: [host]');
  expect([await watched.look(), await watched.look()]).toEqual(['same', 'changed']);
});

test('an editor’s own files are no environments', async () => {
  await using folder = await environmentFolder({ 'shell.yaml': shell('one') });
  await symlink('nobody@nowhere.1', join(folder.path, '.#shell.yaml'));
  const watched = await WatchedFolder.open(folder.path, null);
  expect(watched.catalog.all()).toHaveLength(1);
});
