import { expect, test } from 'vitest';
import { createFakeRandom } from '#test/fakes/random.ts';
import { createFakeClock } from '#test/fakes/clock.ts';
import { sandboxId, templateDigest } from '../model/ids.ts';
import { sandboxAddress } from '../model/rollout.ts';
import { LinkError } from '../ports/sandbox-link.ts';
import type { ProvidedSandbox } from '../ports/sandbox-provider.ts';
import type { Identity } from '../protocol/sandboxd/wire.ts';
import { ask } from './ask.ts';

const provided: ProvidedSandbox = {
  sandbox: sandboxId('sandbox-1'),
  template: templateDigest('template-a'),
  phase: 'running',
  address: sandboxAddress('unix:/run/1.sock'),
  createdAtMs: 0,
  owner: null,
  expiresAtMs: null,
};
const answer = { boot: 'boot-1' } as Identity;
const reset = new LinkError({ kind: 'maybe_sent', detail: 'connection reset' });

/** A sandbox that answers from its `answering`-th request on, and how often it was asked. */
function sandbox(answering: number, trouble: Error = reset) {
  const clock = createFakeClock();
  let asked = 0;
  const identity = async () => {
    asked += 1;
    if (asked < answering) throw trouble;
    return answer;
  };
  const stopping = new AbortController();
  return {
    clock,
    stopping,
    asked: () => asked,
    said: ask({ link: { identity }, clock, random: createFakeRandom() }, provided, stopping.signal),
  };
}

test('a connection that breaks is made again, and the answer counts', async () => {
  const { clock, said, asked } = sandbox(3);
  await clock.advance(100);
  expect(await said).toBe(answer);
  expect(asked()).toBe(3);
});

test('one that never answers says nothing after a second and a half, and is not asked without pause', async () => {
  const { clock, said, asked } = sandbox(Infinity);
  await clock.advance(1_500);
  expect(await said).toBeNull();
  expect(asked()).toBeLessThan(10);
});

test('a controller that stops asks no further', async () => {
  const { clock, said, stopping, asked } = sandbox(Infinity);
  stopping.abort();
  await clock.advance(10);
  expect(await said).toBeNull();
  expect(asked()).toBe(1);
});

test('a mistake of ours is no silence', async () => {
  await expect(sandbox(Infinity, new TypeError('a defect')).said).rejects.toThrow('a defect');
});
