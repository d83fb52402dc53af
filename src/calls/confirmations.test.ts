import { expect, test } from 'vitest';
import { createFakeClock, settled } from '#test/fakes/clock.ts';
import { answering } from '#test/fakes/sandbox-link.ts';
import { bootId, callId, sandboxId } from '../model/ids.ts';
import { sandboxAddress } from '../model/rollout.ts';
import { LinkError, type SandboxTarget } from '../ports/sandbox-link.ts';
import { type ConfirmationDeps, Confirmations } from './confirmations.ts';

const sandboxOf = (name: string): SandboxTarget => ({
  sandbox: sandboxId(name),
  boot: bootId('b'),
  address: sandboxAddress('unix:/fake'),
});

function setUp() {
  const confirmed: string[][] = [];
  const gone = new Set<string>();
  const link: ConfirmationDeps['link'] = {
    confirm: async ({ sandbox }, calls) => {
      if (gone.has(sandbox)) throw new LinkError({ kind: 'not_sent', detail: 'connection refused' });
      confirmed.push([...calls]);
    },
  };
  const clock = createFakeClock();
  const troubles: unknown[] = [];
  const confirmations = new Confirmations({ link, clock, onTrouble: (error) => troubles.push(error) });
  const add = (target: SandboxTarget, call: string, keptBytes = 0) =>
    confirmations.add(target, callId(call), answering({ stdout: 'x'.repeat(keptBytes) }));
  return { confirmed, gone, clock, troubles, confirmations, add };
}

test('answers of ten seconds are confirmed together, each sandbox on its own', async () => {
  const { confirmed, clock, add } = setUp();
  const [one, other] = [sandboxOf('one'), sandboxOf('other')];
  add(one, 'a');
  await clock.advance(6_000);
  add(one, 'b');
  add(other, 'c');
  await clock.advance(3_999);
  expect(confirmed).toEqual([]);
  await clock.advance(1);
  expect(confirmed).toEqual([['a', 'b']]);
  await clock.advance(6_000);
  expect(confirmed).toEqual([['a', 'b'], ['c']]);
});

test('a mebibyte of answers is confirmed at once, and what comes then is gathered again', async () => {
  const { confirmed, clock, add } = setUp();
  const one = sandboxOf('one');
  add(one, 'a', 600_000);
  add(one, 'b', 600_000);
  add(one, 'c');
  await settled();
  expect(confirmed).toEqual([['a', 'b']]);
  await clock.advance(10_000);
  expect(confirmed).toEqual([['a', 'b'], ['c']]);
});

test('small answers count with what the journal needs for them, so that a batch stays bounded', async () => {
  const { confirmed, add } = setUp();
  const one = sandboxOf('one');
  for (let call = 0; call < 1_024; call += 1) add(one, `call-${call}`);
  await settled();
  expect(confirmed.map((calls) => calls.length)).toEqual([1_024]);
});

test('a closing gateway confirms the rest at once and waits until it has arrived', async () => {
  const { confirmed, clock, confirmations, add } = setUp();
  add(sandboxOf('one'), 'a');
  add(sandboxOf('other'), 'b');
  await confirmations.close();
  expect(confirmed).toEqual([['a'], ['b']]);
  expect(clock.sleeping()).toBe(0);
});

test('a sandbox that is gone by then is told of and hinders no other', async () => {
  const { confirmed, gone, clock, troubles, add } = setUp();
  const [one, other] = [sandboxOf('one'), sandboxOf('other')];
  add(one, 'a');
  add(other, 'b');
  gone.add(one.sandbox);
  await clock.advance(10_000);
  expect(confirmed).toEqual([['b']]);
  expect(troubles).toHaveLength(1);
});
