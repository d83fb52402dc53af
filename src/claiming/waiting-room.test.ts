import { expect, test } from 'vitest';
import { createFakeClock } from '#test/fakes/clock.ts';
import { fakeRollout } from '#test/fakes/rollout-record.ts';
import { bootId, sandboxId } from '../model/ids.ts';
import { type RolloutKey, sandboxAddress } from '../model/rollout.ts';
import type { ClaimStore } from '../ports/fleet/claims.ts';
import { type WakeUp, withGrant } from '../ports/fleet/wake-ups.ts';
import { Deadline } from '../waiting/deadline.ts';
import { WaitingRoom, Wakes } from './waiting-room.ts';

const { key } = fakeRollout();

function aRoom() {
  const clock = createFakeClock();
  const renewed: (readonly RolloutKey[])[] = [];
  const changed = new Set<RolloutKey>();
  const listeners: Parameters<ClaimStore['onWake']>[0][] = [];
  let trouble: Error | null = null;
  const claims = {
    onWake: (listener: Parameters<ClaimStore['onWake']>[0]) => {
      listeners.push(listener);
      return () => undefined;
    },
    renew: async (keys: readonly RolloutKey[]) => {
      renewed.push(keys);
      if (trouble !== null) throw trouble;
      return changed;
    },
  };
  const wakes = new Wakes(claims);
  const seen: unknown[] = [];
  const room = new WaitingRoom(claims, wakes, clock, (error) => seen.push(error));
  return {
    clock,
    room,
    renewed,
    changed,
    seen,
    wake: (wakeUp: WakeUp = { kind: 'unknown' }) => listeners.forEach((listener) => listener(key, wakeUp)),
    fail: (error: Error | null) => {
      trouble = error;
    },
  };
}

/** Null the first `times`, then `there`. */
function reader(times: number) {
  let looks = 0;
  return {
    looks: () => looks,
    read: async () => {
      looks += 1;
      return looks > times ? 'there' : null;
    },
  };
}

test('a waiter looks again at every wake-up', async () => {
  const { clock, room, wake } = aRoom();
  const { read, looks } = reader(2);
  const held = room.hold(key, Deadline.in(clock, 60_000), read);
  await clock.advance(10);
  wake();
  await clock.advance(10);
  expect(looks()).toBe(2);
  wake();
  expect(await held).toBe('there');
  await room.close();
});

const granted = (generation: number): WakeUp => ({
  kind: 'granted',
  grant: {
    epoch: { sandbox: sandboxId('box-1'), boot: bootId('boot-1') },
    address: sandboxAddress('unix:/run/box-1'),
    launchType: 'cold',
    generation,
    claimedAtMs: 5,
  },
});

test('a waiter takes its grant from the wake-up, and does not look again', async () => {
  const { clock, room, wake } = aRoom();
  const { read, looks } = reader(9);
  const waiting = fakeRollout({ state: 'waiting', generation: 0 });
  const held = room.hold<unknown>(key, Deadline.in(clock, 60_000), read, (grant) =>
    withGrant(waiting, grant),
  );
  await clock.advance(10);
  wake(granted(1));
  expect(await held).toMatchObject({ state: 'claimed', generation: 1, epoch: { sandbox: 'box-1' } });
  expect(looks()).toBe(1);
  await room.close();
});

test.each([
  ['is older than its place', [granted(0)]],
  ['was given up meanwhile', [granted(1), { kind: 'released' }]],
] as const)('a waiter whose grant %s looks again', async (_, wakeUps) => {
  const { clock, room, wake } = aRoom();
  const { read, looks } = reader(1);
  const waiting = fakeRollout({ state: 'waiting', generation: 0 });
  const held = room.hold<unknown>(key, Deadline.in(clock, 60_000), read, (grant) =>
    withGrant(waiting, grant),
  );
  await clock.advance(10);
  for (const wakeUp of wakeUps) wake(wakeUp);
  expect(await held).toBe('there');
  expect(looks()).toBe(2);
  await room.close();
});

test('a lost wake-up costs two seconds: the renewal tells who was granted', async () => {
  const { clock, room, changed } = aRoom();
  const { read } = reader(1);
  const held = room.hold(key, Deadline.in(clock, 60_000), read);
  changed.add(key);
  await clock.advance(2_000);
  expect(await held).toBe('there');
  await room.close();
});

test('a waiter in vain leaves with null at its deadline without another look, and nobody is renewed after it', async () => {
  const { clock, room, renewed } = aRoom();
  const { read, looks } = reader(2);
  const held = room.hold(key, Deadline.in(clock, 4_500), read);
  await clock.advance(4_500);
  expect(await held).toBeNull();
  expect(looks()).toBe(1);
  expect(renewed).toEqual([[key], [key]]);
  await clock.advance(5_000);
  expect(renewed).toHaveLength(2);
  expect(room.size).toBe(0);
  await room.close();
});

test('a renewal that fails is told and tried again; nobody loses the place', async () => {
  const { clock, room, changed, fail, seen } = aRoom();
  const { read } = reader(1);
  const held = room.hold(key, Deadline.in(clock, 60_000), read);
  fail(new Error('redis is away'));
  await clock.advance(2_000);
  expect(seen).toHaveLength(1);
  fail(null);
  changed.add(key);
  await clock.advance(2_000);
  expect(await held).toBe('there');
  await room.close();
});

test('a rollout whose setup takes long is renewed meanwhile, so that its grant is not taken back', async () => {
  const { clock, room, renewed } = aRoom();
  const setup = room.attend(key, () => clock.sleep(7_000));
  await clock.advance(7_000);
  await setup;
  expect(renewed).toEqual([[key], [key], [key]]);
  expect(room.size).toBe(0);
  await room.close();
});
