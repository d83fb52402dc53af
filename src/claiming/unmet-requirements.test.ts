import { expect, test } from 'vitest';
import { fakeEnvironment, fakeTemplate, roomyPool } from '#test/fakes/environment.ts';
import { decideAmounts } from '../environments/demanded-amounts.ts';
import { Failure } from '../failure/failure.ts';
import type { Requirements } from '../model/requirements.ts';
import { checkRequirements, sandboxNeeds, unmetInSandbox } from './unmet-requirements.ts';

const gibibyte = 1024 ** 3;
const nothing: Requirements = { sandbox: null };
const operator = { memoryBytes: 8 * gibibyte, diskBytes: gibibyte / 2 };
const ceilings = { operator, machine: { cpuMilli: 4_000 } };

function refusal(
  wanted: Partial<Requirements>,
  environment = fakeEnvironment({ ceilings, pool: roomyPool }),
): Failure | null {
  try {
    const { unmet } = decideAmounts(environment, null, wanted.amounts);
    checkRequirements(environment, { ...nothing, ...wanted }, unmet);
    return null;
  } catch (thrown) {
    if (thrown instanceof Failure) return thrown;
    throw thrown;
  }
}

test.each([
  ['memory', { amounts: { memoryBytes: 65 * gibibyte } }, '66560 MiB', '8192 MiB', 'ceilings.memory'],
  ['cpu', { amounts: { cpuMilli: 32_000 } }, '32 cores of CPU', '4 cores', 'larger machine'],
  ['disk', { amounts: { diskBytes: gibibyte } }, '1024 MiB of disk', '512 MiB', 'ceilings.disk'],
  ['network', { network: 'public' }, 'public network', 'network: none', 'sandbox.network'],
  ['services', { services: 2 }, '2 services', 'one container', 'start the other services'],
  ['timeout', { commandTimeoutMs: 7_200_000 }, '7200 s', '1800 s', 'lower the timeout'],
  ['user', { sandbox: { user: 'root' } }, 'as root', 'run_as: user', 'run_as of plain to root'],
] as const)('a demand for %s beyond the environment is refused by name', (requirement, wanted, ...words) => {
  const failure = refusal(wanted);
  expect(failure).toMatchObject({ code: 'requirements_unmet', blame: 'caller', retry: 'no' });
  expect(failure?.evidence).toMatchObject({ requirement });
  const [demanded, given, fix] = words;
  expect(failure?.evidence['wanted']).toContain(demanded);
  expect(failure?.evidence['given']).toContain(given);
  expect(failure?.evidence['fix']).toContain(fix);
});

test('demands up to the ceilings are met', () => {
  const wanted = {
    amounts: { memoryBytes: 8 * gibibyte, cpuMilli: 4_000, diskBytes: gibibyte / 2 },
    services: 1,
  } as const;
  expect(refusal({ ...wanted, commandTimeoutMs: 1_800_000, network: 'none' })).toBeNull();
});

test('every unmet demand is in the message, the first one in the evidence', () => {
  const failure = refusal({ amounts: { cpuMilli: 32_000 }, services: 2 });
  expect(failure?.message).toMatch(/32 cores.*Also: .*2 services/);
  expect(failure?.evidence['requirement']).toBe('cpu');
});

test('a public network is no demand if the environment waives it or has a network', () => {
  expect(refusal({ network: 'public' }, fakeEnvironment({ waives: { network: true } }))).toBeNull();
  const mirrors = fakeEnvironment({ template: fakeTemplate({ network: 'mirrors', mirrors: {} }) });
  expect(refusal({ network: 'public' }, mirrors)?.evidence['given']).toContain('network: mirrors');
  const template = fakeTemplate({ network: 'open' });
  expect(refusal({ network: 'public' }, fakeEnvironment({ template }))).toBeNull();
});

test('a user other than root is refused if commands run as root', () => {
  const environment = fakeEnvironment({ template: fakeTemplate({ runAs: 'root' }) });
  expect(refusal({ sandbox: { user: 'dev' } }, environment)?.evidence).toMatchObject({ requirement: 'user' });
  expect(refusal({ sandbox: { user: 'root' } }, environment)).toBeNull();
});

test('a sandbox is asked for a workdir that commands can write, unless the task or the environment only reads it', () => {
  const environment = fakeEnvironment();
  expect(sandboxNeeds(environment, null)).toEqual({ folders: [{ path: '.', access: 'write' }] });
  const readOnly = { workdir: '/app', workdirAccess: 'read_only' } as const;
  expect(sandboxNeeds(environment, readOnly)).toEqual({ folders: [{ path: '/app', access: 'enter' }] });
  const waiving = fakeEnvironment({ waives: { writableWorkdir: true } });
  expect(sandboxNeeds(waiving, { folders: ['/logs'], user: 'dev' })).toEqual({
    folders: [
      { path: '.', access: 'enter' },
      { path: '/logs', access: 'make' },
    ],
    user: 'dev',
  });
});

test('what the kernel refuses in a sandbox names the folder, the reason and the line to change', () => {
  const environment = fakeEnvironment();
  const needs = sandboxNeeds(environment, { workdir: '/app', folders: ['/logs'] });
  const lacks = {
    folders: [
      { index: 0, path: '/app', errno: 'EROFS' },
      { index: 1, path: '/logs', errno: 'EACCES' },
    ],
    user: 'absent',
  } as const;
  expect(unmetInSandbox(environment, { ...needs, user: 'dev' }, lacks)).toMatchObject([
    {
      requirement: 'workdir',
      given: expect.stringContaining('EROFS'),
      fix: expect.stringContaining('folders'),
    },
    {
      requirement: 'folder',
      given: expect.stringContaining('EACCES'),
      fix: expect.stringContaining('uid 1000'),
    },
    { requirement: 'user', given: 'the image has no such user' },
  ]);
});

test.each([
  ['/app', 'which the task names', 'correct the path in the task'],
  [undefined, "WORKDIR of the image's configuration", "correct WORKDIR in the image's configuration"],
])('a working directory that is absent names where it comes from: %s', (workdir, named, line) => {
  const environment = fakeEnvironment();
  const needs = sandboxNeeds(environment, workdir === undefined ? null : { workdir });
  const lacks = { folders: [{ index: 0, path: '/app', errno: 'ENOENT' }] };
  expect(unmetInSandbox(environment, needs, lacks)).toMatchObject([
    {
      requirement: 'workdir',
      wanted: expect.stringContaining(named),
      fix: expect.stringContaining(line),
    },
  ]);
});

test('a working directory that is read-only has three remedies', () => {
  const environment = fakeEnvironment();
  const lacks = { folders: [{ index: 0, path: '/app', errno: 'EROFS' }] };
  const [unmet] = unmetInSandbox(environment, sandboxNeeds(environment, null), lacks);
  expect(unmet?.fix).toMatch(/sandbox\.folders .*read_only .*leave the task out if it changes files/);
});

test('an error that says nothing about the image is not the task’s: another sandbox is tried', () => {
  const environment = fakeEnvironment();
  const lacks = { folders: [{ index: 0, path: '/app', errno: 'EIO' }] };
  const look = () => unmetInSandbox(environment, sandboxNeeds(environment, null), lacks);
  expect(look).toThrow(expect.objectContaining({ code: 'setup_failed' }));
});
