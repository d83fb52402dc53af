import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { sandboxdSettings } from '#test/fakes/sandboxd-settings.ts';
import { readConfig } from '../config.ts';
import { readUid } from '../processes/process-table.ts';
import { WireError } from '../wire-error.ts';
import { watchShortage, shortageIn } from './shortage.ts';
import { ReadError } from './reader.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'corral-want-'));
  account({ oom: 3, kills: 5 });
});
afterEach(() => rmSync(folder, { recursive: true }));

const account = ({ oom, kills }: { readonly oom: number; readonly kills: number }) =>
  writeFileSync(join(folder, 'memory.events'), `oom ${oom}\noom_kill ${kills}\n`);

function watch(settings: Readonly<Record<string, string>> = {}, policyUid = 61_234) {
  const env = {
    ...sandboxdSettings,
    CORRAL_CGROUP_EVENTS: join(folder, 'memory.events'),
    ...settings,
  };
  const { orLost, end } = watchShortage({ ...readConfig(env, 0, '/'), policyUid });
  end();
  return orLost;
}

const killed = new ReadError('SIGKILL', 'ended by SIGKILL');
const noMemory = new WireError('internal', 'no reader', 'ENOMEM');
const noPlace = new WireError('internal', 'no reader', 'EAGAIN');
const lost = { name: 'ReadError', code: 'LOST' };

test('a reader that is killed when the sandbox reaches its own limit keeps its error', () => {
  const told = watch();
  account({ oom: 4, kills: 6 });
  expect(told(killed)).toBe(killed);
  expect(told(noMemory)).toBe(noMemory);
});

test('a reader that is killed without a kill in the sandbox, or for the machine, is LOST', () => {
  const told = watch();
  expect(told(killed)).toMatchObject(lost);
  expect(told(noMemory)).toMatchObject(lost);
  account({ oom: 3, kills: 6 });
  expect(told(killed)).toMatchObject(lost);
});

test('a missing place for a process is LOST if the policy’s processes are limited, or none of them lives', () => {
  const living = readUid(process.pid) ?? -1;
  expect(watch({}, living)(noPlace)).toBe(noPlace);
  expect(watch()(noPlace)).toMatchObject(lost);
  expect(watch({ CORRAL_POLICY_PROCESSES: '64' }, living)(noPlace)).toMatchObject(lost);
});

test('without an account a killed reader is LOST', () => {
  const told = watch({ CORRAL_CGROUP_EVENTS: join(folder, 'nowhere') });
  expect(told(killed)).toMatchObject(lost);
});

test('with the policy’s own id only the sandbox’s own account is proof', () => {
  const told = watch({ CORRAL_USERS: 'single-user' });
  for (const error of [killed, noMemory, noPlace]) expect(told(error)).toMatchObject(lost);
  account({ oom: 4, kills: 6 });
  for (const error of [killed, noMemory]) expect(told(error)).toBe(error);
  expect(told(noPlace)).toMatchObject(lost);
});

test('a helper or grader that lacks memory is LOST without an account of it, as a reader is', () => {
  const told = watch();
  const errnos = ['ENOMEM', 'EAGAIN', 'ENOSPC', 'SIGKILL', 'SIGSEGV'];
  const errors = errnos.map((errno) => new WireError('file_error', 'the helper gave up', errno));
  for (const error of errors) expect(told(error)).toMatchObject(lost);
  account({ oom: 4, kills: 6 });
  expect(errors.filter((error) => told(error) === error).map(({ errno }) => errno)).toEqual([
    'ENOMEM',
    'SIGKILL',
  ]);
});

test('other errors keep their code', () => {
  const told = watch();
  for (const error of [
    new ReadError('EIO', 'disk'),
    new WireError('internal', 'no reader', 'ENOENT'),
    new Error('x'),
  ])
    expect([told(error), shortageIn(error)]).toEqual([error, null]);
});
