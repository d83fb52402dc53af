import { join } from 'node:path';
import { expect, test } from 'vitest';
import { environmentFolder, mistakesOf } from '#test/support/environment-folder.ts';
import { loadPermitted, loadPolicy } from './load-environments.ts';

const shell = `
name: shell
sandbox: { image: host, memory: 512Mi }
tools: { shell: { builtin: shell } }
grader: { kind: text, reference: item.answer }
`;

test('an environment beyond what the operator allows is a mistake, and without a policy it is not', async () => {
  await using policies = await environmentFolder({ 'policy.yaml': 'ceilings: { memory: 256Mi }' });
  await using folder = await environmentFolder({ 'shell.yaml': shell });
  const permitted = loadPermitted(folder.path, join(policies.path, 'policy.yaml'));
  expect(await mistakesOf(folder.path, permitted)).toEqual([expect.stringContaining('memory')]);
  expect((await loadPermitted(folder.path, null)).all()).toHaveLength(1);
});

test('what a policy leaves out is open, but for networks', async () => {
  await using folder = await environmentFolder({ 'policy.yaml': 'ceilings: { memory: 1Gi }' });
  expect(await loadPolicy(join(folder.path, 'policy.yaml'))).toMatchObject({
    images: ['*'],
    networks: ['none'],
    runAs: ['user', 'root'],
    ceilings: { memoryBytes: 2 ** 30, cpuMilli: Number.POSITIVE_INFINITY },
  });
});

test('one that is not there is a mistake, never an open policy', async () => {
  await using folder = await environmentFolder({});
  expect(await mistakesOf(folder.path, loadPolicy(join(folder.path, 'policy.yaml')))).toEqual([
    expect.stringContaining('policy.yaml:1  cannot be read (ENOENT)'),
  ]);
});

test('its mistakes are told like those of environments', async () => {
  await using folder = await environmentFolder({ 'policy.yaml': 'images: host\nceiling: {}' });
  expect(await mistakesOf(folder.path, loadPolicy(join(folder.path, 'policy.yaml')))).toEqual([
    expect.stringContaining('policy.yaml:1 images must be a list of texts'),
    expect.stringContaining('policy.yaml:2 ceiling is unknown here'),
  ]);
});
