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

const mirrored = (mirrors: string) =>
  shell.replace('image: host', `image: host, network: { mirrors: ${mirrors} }`);

test.each([
  ['{ pypi: https://packages.example/simple }', []],
  [
    '{ pypi: [https://packages.example/simple/, "https://files.example/"], npm: HTTPS://Packages.example:443/npm }',
    [],
  ],
  [
    '{ pypi: https://packages.example.com/simple }',
    ['is https://packages.example.com/simple/, and the operator allows mirrors below'],
  ],
  [
    '{ pypi: https://packages.example/simple, npm: "https://modules.example/" }',
    ['network.mirrors.npm is https://modules.example/'],
  ],
  ['{ pypi: http://packages.example/simple }', ['is http://packages.example/simple/']],
  ['{ pypi: https://packages.example/../simple/../../x }', []],
  ['{ pypi: https://me:secret@packages.example/ }', ['must not hold a user or a password']],
  ['{ pypi: "https://packages.example/?x" }', ['must end with its path']],
  ['{ pypi: file:///etc }', ['must be http://… or https://…']],
  ['{ pypi: nowhere }', ['must be http://… or https://…']],
  ['{ Pypi: https://packages.example/ }', ['mirrors are named by lower-case letters']],
])('mirrors %s are held to what the operator allows', async (mirrors, told) => {
  const policy = 'networks: [none, mirrors]\nmirrors: ["https://packages.example", "https://files.example/"]';
  await using policies = await environmentFolder({ 'policy.yaml': policy });
  await using folder = await environmentFolder({ 'shell.yaml': mirrored(mirrors) });
  const permitted = loadPermitted(folder.path, join(policies.path, 'policy.yaml'));
  if (told.length === 0) expect((await permitted).all()).toHaveLength(1);
  else
    expect(await mistakesOf(folder.path, permitted)).toContainEqual(expect.stringContaining(told[0] ?? ''));
});

test('without a policy that allows mirrors an environment with some does not load', async () => {
  await using folder = await environmentFolder({
    'shell.yaml': mirrored('{ pypi: https://packages.example/simple }'),
  });
  expect(await mistakesOf(folder.path, loadPermitted(folder.path, null))).toEqual([
    expect.stringContaining('network is mirrors, and the operator allows: none'),
    expect.stringContaining('and the operator allows mirrors below: none'),
  ]);
});

test('a sandbox has at most 16 addresses of mirrors', async () => {
  const many = `[${Array.from({ length: 17 }, (_each, index) => `https://packages.example/${index}/`).join(', ')}]`;
  await using policies = await environmentFolder({
    'policy.yaml': 'networks: [mirrors]\nmirrors: ["https://packages.example/"]',
  });
  await using folder = await environmentFolder({ 'shell.yaml': mirrored(`{ pypi: ${many} }`) });
  expect(
    await mistakesOf(folder.path, loadPermitted(folder.path, join(policies.path, 'policy.yaml'))),
  ).toEqual([expect.stringContaining('has 17 addresses, and a sandbox has at most 16')]);
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
