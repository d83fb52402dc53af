import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { busyboxRoot } from '#test/support/busybox-root.ts';
import { expectFailure } from '#test/support/faces.ts';
import { type JoinedFleet, joinSharedFleet } from '#test/support/shared-fleet.ts';

const environment = (root: string) => `
name: tasks
sandbox: { image: "rootfs:${root}", disk: 64Mi, folders: [/logs] }
grader: { kind: none }
pool: { min_ready: 0, max: 8 }
`;

let folder = '';
let corral: JoinedFleet;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'corral-needs-'));
  await busyboxRoot(folder, 'task');
  await mkdir(join(folder, 'app'));
  corral = await joinSharedFleet({ tasks: environment(folder) });
});
afterAll(async () => {
  await corral.leave();
  await rm(folder, { recursive: true });
});

const unmet = {
  status: 422,
  code: 'requirements_unmet',
  blame: 'caller',
  admitted: 'no',
  retryable: false,
  tainted: false,
} as const;

const open = (rollout: string, requires: object) =>
  corral.native.post('/v1/rollouts', { rollout_id: rollout, environment: 'tasks', requires });
const run = (rollout: string, call = 'c1') =>
  corral.native.post(`/v1/rollouts/${rollout}/exec`, { call_id: call, command: 'echo ran' });
const of = (requirement: string) => expect.objectContaining({ requirement });

test.each([
  ['memory', { memory_bytes: 32 * 1024 ** 4 }],
  ['cpu', { cpu_milli: 4_000_000 }],
  ['disk', { disk_bytes: 1024 ** 5 }],
  ['network', { network: 'public' }],
  ['services', { services: 2 }],
  ['timeout', { command_timeout_s: 7_200 }],
  ['user', { user: 'root' }],
])('a task that demands too much %s is refused when it is opened: 422', async (requirement, requires) => {
  const answer = await open(`open-${requirement}`, requires);
  expectFailure(answer, { ...unmet, evidence: of(requirement) });
});

test('shared memory counts within the memory, so too much of it is refused as that', async () => {
  const answer = await open('open-shm', { shm_bytes: 32 * 1024 ** 4 });
  expectFailure(answer, { ...unmet, evidence: of('memory') });
});

/** The image's root folders are root's, or read-only where the machine can give a sandbox no writable root. */
const notWritable = /EACCES|EROFS/;

test.each([
  ['workdir', 'that commands cannot write', { workdir: '/app' }, notWritable],
  ['workdir', 'that is absent', { workdir: '/srv/none' }, /ENOENT/],
  ['folder', 'that commands cannot create', { folders: ['/logs', '/tests'] }, notWritable],
  ['user', 'that the image lacks', { user: 'dev' }, /no such user/],
])('a %s %s is refused before the first call, and never scored', async (requirement, what, requires, why) => {
  const rollout = `bound-${requirement}-${what.replaceAll(' ', '-')}`;
  expect(await open(rollout, requires)).toMatchObject({ status: 201 });
  const message = expect.stringMatching(why);
  expectFailure(await run(rollout), { ...unmet, message, evidence: of(requirement) });
  expectFailure(await run(rollout, 'c2'), { ...unmet, evidence: of(requirement) });
  const score = await corral.native.post(`/v1/rollouts/${rollout}/finish`, { score: 0 });
  expectFailure(score, { ...unmet, evidence: of(requirement) });
  expect(await corral.native.get(`/v1/rollouts/${rollout}/verdict`)).toMatchObject({
    status: 200,
    body: {
      verdict: { kind: 'discard', code: 'requirements_unmet' },
      score: null,
      discard: { blame: 'caller' },
    },
  });
});

test('a task whose demands are met runs', async () => {
  const requires = {
    workdir: '/app',
    workdir_access: 'read_only',
    folders: ['/logs/agent'],
    user: '1000',
    memory_bytes: 1024 ** 2,
    network: 'none',
    services: 1,
    command_timeout_s: 60,
  };
  expect(await open('met', requires)).toMatchObject({ status: 201 });
  expect(await run('met')).toMatchObject({ status: 200, body: { stdout: 'ran\n' } });
});
