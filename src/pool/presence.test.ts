import { expect, test } from 'vitest';
import { templateDigest, sandboxId } from '../model/ids.ts';
import { sandboxAddress } from '../model/rollout.ts';
import type { ProvidedSandbox } from '../ports/sandbox-provider.ts';
import { createPresence } from './presence.ts';

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
  const presence = createPresence();
  const waiting = presence.running(sandbox, never);
  presence.apply(running);
  expect(await waiting).toBe(address);
  expect(await presence.running(sandbox, never)).toBe(address);
});

test('a list after a reconnect tells as much as the events that were missed', async () => {
  const presence = createPresence();
  const waiting = presence.running(sandbox, never);
  presence.apply({ kind: 'listed', sandboxes: [listed] });
  expect(await waiting).toBe(address);
  presence.apply({ kind: 'listed', sandboxes: [] });
  expect(presence.isGone(sandbox)).toBe(true);
  await expect(presence.running(sandbox, never)).rejects.toThrow('gone before it was ready');
});

test('a list without a sandbox that was never seen to run says nothing about it', async () => {
  const presence = createPresence();
  const waiting = presence.running(sandbox, never);
  presence.apply({ kind: 'listed', sandboxes: [] });
  expect(presence.isGone(sandbox)).toBe(false);
  presence.apply(running);
  expect(await waiting).toBe(address);
});

test('a sandbox that is gone fails who waits, with its cause', async () => {
  const presence = createPresence();
  const waiting = presence.running(sandbox, never);
  presence.apply(gone);
  await expect(waiting).rejects.toMatchObject({ code: 'start_failed', evidence: { cause: 'evicted' } });
});

test('who stops waiting gets the reason of the stop', async () => {
  const stop = new AbortController();
  const waiting = createPresence().running(sandbox, stop.signal);
  stop.abort(new Error('enough'));
  await expect(waiting).rejects.toThrow('enough');
});

test('who waits for a sandbox that will not run hears why, in the provider’s words, also when it asks later', async () => {
  const presence = createPresence();
  const waiting = presence.running(sandbox, never);
  const [code, message] = ['image_unavailable', 'ErrImagePull: not found'] as const;
  presence.apply({ kind: 'cannot_start', sandbox, code, message, evidence: { reason: 'ErrImagePull' } });
  const failure = {
    code,
    message: expect.stringContaining(message) as string,
    evidence: { reason: 'ErrImagePull' },
  };
  await expect(waiting).rejects.toMatchObject(failure);
  await expect(presence.running(sandbox, never)).rejects.toMatchObject(failure);
  expect(presence.isGone(sandbox)).toBe(false);
});

test('a start whose place is going away is given up at once and is not its template’s failure; one that runs is left', async () => {
  const presence = createPresence();
  const waiting = presence.running(sandbox, never);
  const leaving = { kind: 'leaving', sandbox, why: 'its node takes no more pods' } as const;
  presence.apply(leaving);
  await expect(waiting).rejects.toMatchObject({ code: 'provider_unavailable' });
  const other = sandboxId('sandbox-2');
  presence.apply({ ...running, sandbox: other });
  presence.apply({ ...leaving, sandbox: other });
  expect(await presence.running(other, never)).toBe(address);
});
