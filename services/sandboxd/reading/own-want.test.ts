import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readConfig } from '../config.ts';
import { WireError } from '../wire-error.ts';
import { ownWantsFrom, wantIn } from './own-want.ts';
import { ReadError } from './reader.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'corral-want-'));
  account({ oom: 3, kills: 5 });
});
afterEach(() => rmSync(folder, { recursive: true }));

const account = ({ oom, kills }: { readonly oom: number; readonly kills: number }) =>
  writeFileSync(join(folder, 'memory.events'), `oom ${oom}\noom_kill ${kills}\n`);

function wants(settings: Readonly<Record<string, string>> = {}) {
  const env = {
    CORRAL_SANDBOX_ID: 's',
    CORRAL_TOKEN_SHA256: '0'.repeat(64),
    CORRAL_LISTEN: 'unix:/nowhere',
    CORRAL_CGROUP_EVENTS: join(folder, 'memory.events'),
    ...settings,
  };
  return ownWantsFrom(readConfig(env, 0, '/'));
}

const killed = new ReadError('SIGKILL', 'ended by SIGKILL');
const noMemory = new WireError('internal', 'no reader', 'ENOMEM');
const noPlace = new WireError('internal', 'no reader', 'EAGAIN');
const lost = { name: 'ReadError', code: 'LOST' };

test('a reader that was killed when the sandbox came to its own limit is the sandbox’s own want', () => {
  const told = wants();
  account({ oom: 4, kills: 6 });
  expect(told(killed)).toBe(killed);
  expect(told(noMemory)).toBe(noMemory);
});

test('one that was killed beside that is lost: nothing killed here, or the machine was short', () => {
  const told = wants();
  expect(told(killed)).toMatchObject(lost);
  expect(told(noMemory)).toMatchObject(lost);
  account({ oom: 3, kills: 6 });
  expect(told(killed)).toMatchObject(lost);
});

test('no place for a process is the sandbox’s own want only if nothing else limits the policy', () => {
  expect(wants()(noPlace)).toBe(noPlace);
  expect(wants({ CORRAL_POLICY_PROCESSES: '64' })(noPlace)).toMatchObject(lost);
});

test('without an account nothing shows that the sandbox was full', () => {
  const told = wants({ CORRAL_CGROUP_EVENTS: join(folder, 'nowhere') });
  expect(told(killed)).toMatchObject(lost);
});

test('where the policy has the reader’s id it may be behind all of it', () => {
  const told = wants({ CORRAL_USERS: 'single-user' });
  expect(told(killed)).toBe(killed);
  expect(told(noPlace)).toBe(noPlace);
});

test('what is no want stays what it is', () => {
  const told = wants();
  for (const error of [
    new ReadError('EIO', 'disk'),
    new WireError('internal', 'no reader', 'ENOENT'),
    new Error('x'),
  ])
    expect([told(error), wantIn(error)]).toEqual([error, null]);
});
