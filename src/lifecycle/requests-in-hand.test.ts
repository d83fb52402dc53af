import { expect, test } from 'vitest';
import { createFakeClock, settled } from '#test/fakes/clock.ts';
import { FakeGatewayStore } from '#test/fakes/gateway-store.ts';
import { fakeOwner } from '#test/fakes/rollout-record.ts';
import { createFakeRandom } from '#test/fakes/random.ts';
import type { FailureCode } from '../failure/codes.ts';
import { Failure } from '../failure/failure.ts';
import { rolloutKey } from '../model/rollout.ts';
import { Deadline } from '../waiting/deadline.ts';
import { RequestsInHand } from './requests-in-hand.ts';

const key = rolloutKey(fakeOwner());
const otherKey = rolloutKey(fakeOwner('other'));
const away = new Failure('state_unavailable', 'away');

function inHand({ isDecided = true } = {}) {
  const gateways = new FakeGatewayStore();
  const clock = createFakeClock();
  const requests = new RequestsInHand({
    gateways,
    gateway: 'me',
    clock,
    random: createFakeRandom(),
    onLost: () => Promise.resolve(),
  });
  if (isDecided) requests.decided();
  return { requests, gateways, clock, soon: Deadline.in(clock, 5_000) };
}

test('a request that is answered is in hand until its client has the answer, and nothing is discarded', async () => {
  const { requests, gateways, soon } = inHand();
  const request = requests.open(key);
  await request.entered(soon);
  request.closed(true);
  await settled();
  expect(gateways.said).toEqual([`enter ${key}`, `leave ${key}`]);
});

test('a client that hangs up by itself discards nothing', async () => {
  const { requests, gateways, soon } = inHand();
  const request = requests.open(key);
  await request.entered(soon);
  request.closed(false);
  await settled();
  expect(gateways.said).toEqual([`enter ${key}`, `leave ${key}`]);
});

test.each<[FailureCode, string | null]>([
  ['state_unavailable', ''],
  ['gateway_overloaded', ''],
  ['shutting_down', ''],
  ['unclassified', ' sandbox'],
  ['sandboxd_unreachable', ' sandbox command'],
  ['still_running', null],
  ['sandbox_lost', null],
  ['rollout_closed', null],
  ['invalid_request', null],
  ['payload_too_large', null],
])('a request that is answered with %s discards its rollout: %j', async (code, mark) => {
  const { requests, gateways } = inHand();
  const request = requests.open(key);
  request.failed(new Failure(code, 'what happened'));
  request.failed(new Failure(code, 'again'));
  request.closed(true);
  await settled();
  expect(gateways.said).toEqual(mark === null ? [] : [`lose ${key} failed ${code}${mark}`]);
});

test('a client that leaves while fleet state is away discards its rollout as soon as that is back', async () => {
  const { requests, gateways, clock } = inHand();
  gateways.failure = away;
  const request = requests.open(key);
  const entered = request.entered(Deadline.in(clock, 60_000));
  entered.catch(() => undefined);
  await clock.advance(2_000);
  request.closed(false);
  await clock.advance(60_000);
  expect(gateways.said).toEqual([]);
  gateways.failure = null;
  await clock.advance(2_000);
  expect(gateways.said).toEqual([`lose ${key} client_left`, `leave ${key}`]);
});

test('a client that leaves long after fleet state is back has another reason, and discards nothing', async () => {
  const { requests, gateways, clock, soon } = inHand();
  const request = requests.open(key);
  await request.entered(soon);
  gateways.failure = away;
  await expect(requests.keep()).rejects.toThrow('away');
  gateways.failure = null;
  await requests.keep();
  await clock.advance(6_000);
  request.closed(false);
  await settled();
  expect(gateways.said).not.toContain(`lose ${key} client_left`);
});

test('the doubt about another gateway is no outage', async () => {
  const { requests, gateways, clock } = inHand();
  gateways.failure = new Failure('recovering', 'another may be lost');
  const request = requests.open(key);
  const entered = request.entered(Deadline.in(clock, 60_000));
  await clock.advance(2_000);
  request.closed(false);
  gateways.failure = null;
  await clock.advance(2_000);
  await entered.catch(() => undefined);
  expect(gateways.said.filter((said) => said.startsWith('lose'))).toEqual([]);
});

test('a client that leaves while Redis itself recovers discards its rollout, however long that takes', async () => {
  const { requests, gateways, clock, soon } = inHand();
  const request = requests.open(key);
  await request.entered(soon);
  gateways.failure = new Failure('recovering', 'the fleet is written back');
  for (let second = 0; second < 10; second += 1) {
    await expect(requests.keep()).rejects.toThrow('written back');
    await clock.advance(1_000);
  }
  request.closed(false);
  gateways.failure = null;
  await clock.advance(2_000);
  expect(gateways.said).toContain(`lose ${key} client_left`);
});

test('a gateway says for how long it has been leaving', async () => {
  const { requests, gateways, clock } = inHand();
  await requests.keep();
  requests.leaves();
  await clock.advance(3_000);
  requests.leaves();
  await requests.keep();
  expect(gateways.said).toEqual(['keep me', 'keep me leaving 3000']);
});

test('fleet state that was away for one request only hears again what is in hand', async () => {
  const { requests, gateways, clock } = inHand();
  gateways.failure = away;
  const entered = requests.open(key).entered(Deadline.in(clock, 60_000));
  await settled();
  gateways.failure = null;
  await clock.advance(2_000);
  await entered;
  await requests.keep();
  expect(gateways.said).toContain(`keep me in hand ${key}`);
});

test('a command that still runs at the deadline of its client discards its rollout if fleet state was away', async () => {
  const { requests, gateways, clock } = inHand();
  const request = requests.open(key);
  gateways.failure = away;
  await expect(requests.keep()).rejects.toThrow('away');
  gateways.failure = null;
  request.failed(new Failure('still_running', 'it goes on'));
  await clock.advance(1_000);
  expect(gateways.said).toEqual([`lose ${key} failed still_running`]);
});

test('a client that leaves while fleet state has not answered for a second discards its rollout', async () => {
  const { requests, gateways, clock } = inHand();
  const standsStill = Promise.withResolvers<void>();
  gateways.gate = standsStill.promise;
  const request = requests.open(key);
  const entered = request.entered(Deadline.in(clock, 60_000));
  await clock.advance(1_001);
  request.closed(false);
  standsStill.resolve();
  await entered;
  await settled();
  expect(gateways.said).toContain(`lose ${key} client_left`);
});

test('the next request for a rollout waits until its discard has been stored', async () => {
  const { requests, gateways, clock, soon } = inHand();
  gateways.failure = away;
  requests.open(key).failed(away);
  const entered = requests.open(key).entered(Deadline.in(clock, 60_000));
  await clock.advance(3_000);
  gateways.failure = null;
  await clock.advance(2_000);
  await entered;
  expect(gateways.said).toEqual([`lose ${key} failed state_unavailable`, `enter ${key}`]);
  expect(soon.passed).toBe(true);
});

test('requests wait until their gateway knows whether it may answer, and no longer than their clients', async () => {
  const { requests, gateways, clock } = inHand({ isDecided: false });
  const [short, long] = [1_000, 60_000].map((ms) => requests.open(key).entered(Deadline.in(clock, ms)));
  short?.catch(() => undefined);
  await clock.advance(5_000);
  await expect(short).rejects.toMatchObject({ code: 'recovering' });
  const opening = requests.whenDecided(Deadline.in(clock, 60_000));
  requests.decided();
  await clock.advance(1_000);
  await Promise.all([long, opening]);
  expect(gateways.said).toEqual([`enter ${key}`]);
});

test('a rollout with two requests in hand leaves with the last of them', async () => {
  const { requests, gateways, soon } = inHand();
  const [one, other] = [requests.open(key), requests.open(key)];
  await Promise.all([one.entered(soon), other.entered(soon)]);
  one.closed(true);
  await settled();
  expect(gateways.said).toEqual([`enter ${key}`, `enter ${key}`]);
  other.closed(true);
  await settled();
  expect(gateways.said.slice(2)).toEqual([`leave ${key}`]);
});

test('fleet state that has forgotten a gateway, or missed an end, hears once what is in hand', async () => {
  const { requests, gateways, soon } = inHand();
  await requests.open(key).entered(soon);
  const ended = requests.open(otherKey);
  await ended.entered(soon);
  gateways.kept = [{ isForgotten: true, lost: [] }];
  await requests.keep();
  gateways.failure = away;
  ended.closed(true);
  await settled();
  await expect(requests.keep()).rejects.toThrow('away');
  gateways.failure = null;
  await requests.keep();
  await requests.keep();
  expect(gateways.said.slice(2)).toEqual(['keep me', `keep me in hand ${key}`, 'keep me']);
});

test('a gateway that ends in order first stores what it has to discard', async () => {
  const { requests, gateways } = inHand();
  requests.open(key).failed(new Failure('shutting_down', 'it leaves'));
  await requests.end();
  expect(gateways.said).toEqual([`lose ${key} failed shutting_down`, 'end me']);
});
