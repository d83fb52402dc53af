import { expect, test } from 'vitest';
import { templateDigest, sandboxId } from '../model/ids.ts';
import { sandboxAddress } from '../model/rollout.ts';
import type { ProvidedSandbox } from '../ports/sandbox-provider.ts';
import { SandboxAccount } from './sandbox-account.ts';

const sandbox = sandboxId('sandbox-1');
const address = sandboxAddress('unix:/run/1.sock');
const running = { kind: 'running', sandbox, address } as const;
const gone = { kind: 'gone', sandbox, cause: 'evicted', evidence: {} } as const;
const listed: ProvidedSandbox = {
  sandbox,
  template: templateDigest('template-a'),
  phase: 'running',
  address,
  createdAtMs: 0,
  owner: null,
  expiresAtMs: null,
};
const never = new AbortController().signal;

test('who waits for a sandbox gets its address when it runs, and who asks later at once', async () => {
  const account = new SandboxAccount();
  const waiting = account.running(sandbox, never);
  account.apply(running);
  expect(await waiting).toBe(address);
  expect(await account.running(sandbox, never)).toBe(address);
});

test('a list after a reconnect tells as much as the events that were missed', async () => {
  const account = new SandboxAccount();
  const waiting = account.running(sandbox, never);
  account.apply({ kind: 'listed', sandboxes: [listed] });
  expect(await waiting).toBe(address);
  account.apply({ kind: 'listed', sandboxes: [] });
  expect(account.isGone(sandbox)).toBe(true);
  await expect(account.running(sandbox, never)).rejects.toThrow('gone before it was ready');
});

test('a list without a sandbox that was never seen to run says nothing about it', async () => {
  const account = new SandboxAccount();
  const waiting = account.running(sandbox, never);
  account.apply({ kind: 'listed', sandboxes: [] });
  expect(account.isGone(sandbox)).toBe(false);
  account.apply(running);
  expect(await waiting).toBe(address);
});

test('a sandbox that is gone fails who waits, with its cause', async () => {
  const account = new SandboxAccount();
  const waiting = account.running(sandbox, never);
  account.apply(gone);
  await expect(waiting).rejects.toMatchObject({ code: 'start_failed', evidence: { cause: 'evicted' } });
});

test('who stops waiting gets the reason of the stop', async () => {
  const stop = new AbortController();
  const waiting = new SandboxAccount().running(sandbox, stop.signal);
  stop.abort(new Error('enough'));
  await expect(waiting).rejects.toThrow('enough');
});

test('who waits for a sandbox that will not run hears why, in the provider’s words, also when it asks later', async () => {
  const account = new SandboxAccount();
  const waiting = account.running(sandbox, never);
  const [code, message] = ['image_unavailable', 'ErrImagePull: not found'] as const;
  account.apply({ kind: 'cannot_start', sandbox, code, message, evidence: { reason: 'ErrImagePull' } });
  const failure = {
    code,
    message: expect.stringContaining(message) as string,
    evidence: { reason: 'ErrImagePull' },
  };
  await expect(waiting).rejects.toMatchObject(failure);
  await expect(account.running(sandbox, never)).rejects.toMatchObject(failure);
  expect(account.isGone(sandbox)).toBe(false);
});

test('a start whose place is going away is given up at once and is not its template’s failure; one that runs is left', async () => {
  const account = new SandboxAccount();
  const waiting = account.running(sandbox, never);
  const leaving = { kind: 'leaving', sandbox, why: 'its node takes no more pods' } as const;
  account.apply(leaving);
  await expect(waiting).rejects.toMatchObject({ code: 'provider_unavailable' });
  const other = sandboxId('sandbox-2');
  account.apply({ ...running, sandbox: other });
  account.apply({ ...leaving, sandbox: other });
  expect(await account.running(other, never)).toBe(address);
});

test('what a list shows to be gone is to be told, and is neither dialled nor taken out of the pool any more', () => {
  const account = new SandboxAccount();
  account.apply(running);
  account.apply({ kind: 'doubted', sandbox, address, cause: 'node_lost', evidence: {} });
  account.apply({ kind: 'leaving', sandbox, why: 'its node is not ready' });
  account.apply({ kind: 'listed', sandboxes: [] });
  expect([...account.untold]).toMatchObject([[sandbox, { cause: 'deleted' }]]);
  expect([account.doubts.size, account.leaving.size]).toEqual([0, 0]);
});

test('an end that is seen again, as after a Redis was replaced, is to be told again', () => {
  const account = new SandboxAccount();
  account.apply(gone);
  account.untold.clear();
  account.apply(gone);
  expect(account.untold.size).toBe(1);
});
