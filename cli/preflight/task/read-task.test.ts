import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { digestTask } from './digest-task.ts';
import { readTask } from './read-task.ts';
import { isFull, readReward } from './reward.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'corral-task-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
  delete process.env['TASK_TOKEN'];
});

const write = (toml: string) => writeFileSync(join(folder, 'task.toml'), toml);

test('only what task.toml says is a demand', () => {
  write('[environment]\ndocker_image = "rootfs:/srv/tasks/one"\n');
  const { task, unmet, remarks } = readTask(folder);
  expect(unmet).toEqual([]);
  expect(remarks).toHaveLength(1);
  expect(task?.requires).toEqual({ folders: ['/logs', '/tests', '/solution'], command_timeout_s: 600 });
});

test('every demand is read, the older fields of Harbor too', () => {
  write(`
[environment]
docker_image = "rootfs:/srv/tasks/one"
memory = "2G"
storage_mb = 512
cpus = 1.5
allow_internet = true
workdir = "/app"
[agent]
timeout_sec = 7200
user = "dev"
[verifier]
timeout_sec = 60
`);
  mkdirSync(join(folder, 'environment'));
  writeFileSync(
    join(folder, 'environment/docker-compose.yaml'),
    'services: { main: { user: dev }, store: {} }',
  );
  expect(readTask(folder).task?.requires).toEqual({
    folders: ['/logs', '/tests', '/solution'],
    workdir: '/app',
    memory_bytes: 2 * 1024 ** 3,
    disk_bytes: 512 * 1024 ** 2,
    cpu_milli: 1500,
    network: 'public',
    services: 2,
    user: 'dev',
    command_timeout_s: 7200,
  });
});

test.each([
  ['image', '[environment]\n'],
  ['gpu', '[environment]\ndocker_image = "a"\ngpus = 1\n'],
  ['platform', '[environment]\ndocker_image = "a"\nos = "windows"\n'],
  ['network', '[environment]\ndocker_image = "a"\nnetwork_mode = "allowlist"\n'],
  ['services', '[environment]\ndocker_image = "a"\n[verifier]\nenvironment_mode = "separate"\n'],
])('a demand that no sandbox meets is named without opening one: %s', (requirement, toml) => {
  write(toml);
  const { task, unmet } = readTask(folder);
  expect(task).toBeNull();
  expect(unmet).toMatchObject([{ requirement }]);
});

test('settings of the one container of a compose file are named', () => {
  write('[environment]\ndocker_image = "a"\n');
  mkdirSync(join(folder, 'environment'));
  writeFileSync(join(folder, 'environment/docker-compose.yaml'), 'services: { main: { user: dev } }');
  const wanted = 'the task sets user of its container in docker-compose.yaml';
  expect(readTask(folder)).toMatchObject({ task: null, unmet: [{ requirement: 'services', wanted }] });
});

test.each([
  ['gpus = 1', 'the task demands 1 GPU'],
  ['gpus = 2', 'the task demands 2 GPUs'],
  ['os = "windows"', 'the task demands Windows'],
])('a task that demands another machine has no remark about its network: %s', (line, wanted) => {
  write(`[environment]\ndocker_image = "a"\n${line}\n`);
  expect(readTask(folder)).toMatchObject({ unmet: [{ wanted }], remarks: [] });
});

test('a folder without task.toml, or with one that is not TOML, is rejected', () => {
  expect(() => readTask(folder)).toThrow(/does not exist/);
  write('not toml');
  expect(() => readTask(folder)).toThrow(/cannot be read/);
});

test('variables of this machine are filled in, or their default', () => {
  process.env['TASK_TOKEN'] = 'secret';
  write(`
[environment]
docker_image = "a"
[environment.env]
A = "x\${TASK_TOKEN}y"
B = "\${NO_SUCH_VARIABLE:-b:-c}"
C = "\${open"
`);
  expect(readTask(folder).task?.env).toEqual({ A: 'xsecrety', B: 'b:-c', C: '${open' });
});

test('the digest changes with names, modes, bytes and links, and not with the instruction', () => {
  write('[environment]\ndocker_image = "a"\n');
  mkdirSync(join(folder, 'tests'));
  const seen = new Set<string>();
  const look = (change: () => void) => {
    change();
    return seen.size === seen.add(digestTask(folder)).size ? 'same' : 'new';
  };
  expect(look(() => undefined)).toBe('new');
  expect(look(() => writeFileSync(join(folder, 'instruction.md'), 'do it'))).toBe('same');
  expect(look(() => writeFileSync(join(folder, 'tests/test.sh'), 'exit 0', { mode: 0o644 }))).toBe('new');
  expect(look(() => writeFileSync(join(folder, 'tests/test.sh'), 'exit 1'))).toBe('new');
  expect(look(() => symlinkSync('test.sh', join(folder, 'tests/läufer')))).toBe('new');
});

test('the digest is the one that the Python client computes', () => {
  write('[environment]\n');
  mkdirSync(join(folder, 'tests/a'), { recursive: true });
  writeFileSync(join(folder, 'tests/a/ü.txt'), 'text', { mode: 0o600 });
  writeFileSync(join(folder, 'tests/a.sh'), '', { mode: 0o755 });
  expect(digestTask(folder)).toBe(pythonsDigest);
});

const pythonsDigest = 'f6d912d127025768e683ccd8a855830c4dbf5e4596f78371f3a374e241245f0a';

test('a missing or malformed reward is not a zero', () => {
  expect(readReward(null, null)).toBeNull();
  expect(readReward(null, '')).toBeNull();
  expect(readReward(null, 'nan')).toBeNull();
  expect(readReward('{"reward": "1"}', '1')).toBeNull();
  expect(readReward('not json', '1')).toBeNull();
  expect(readReward(null, '0\n')).toEqual({ reward: 0 });
  expect(readReward('{"a": 1, "b": 0.5}', null)).toEqual({ a: 1, b: 0.5 });
});

test('a full reward is 1, or what the task declares', () => {
  expect(isFull({ reward: 1 }, 1)).toBe(true);
  expect(isFull({ reward: 0.9 }, 1)).toBe(false);
  expect(isFull({ reward: 5, speed: 0 }, 5)).toBe(true);
  expect(isFull({ a: 1, b: 0.5 }, { a: 1, b: 0.5 })).toBe(true);
  expect(isFull({ a: 1 }, { a: 1, b: 0.5 })).toBe(false);
});
