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
  expect(gateways.said).toEqual([`enter 1 ${key}`, `leave 1 ${key}`]);
});

test('a client that hangs up by itself discards nothing', async () => {
  const { requests, gateways, soon } = inHand();
  const request = requests.open(key);
  await request.entered(soon);
  request.closed(false);
  await settled();
  expect(gateways.said).toEqual([`enter 1 ${key}`, `leave 1 ${key}`]);
});

test.each<[FailureCode, string | null]>([
  ['state_unavailable', ''],
  ['gateway_overloaded', ''],
  ['shutting_down', ''],
  ['unclassified', ''],
  ['sandboxd_unreachable', ' (command)'],
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
  expect(gateways.said).toEqual([`lose ${key} client_left`, `leave 1 ${key}`]);
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
  expect(gateways.said).toEqual([`lose ${key} failed state_unavailable`, `enter 2 ${key}`]);
  expect(soon.passed).toBe(true);
});

test('requests wait until their gateway knows whether it may answer, and no longer than their clients', async () => {
  const { requests, gateways, clock } = inHand({ isDecided: false });
  const [short, long] = [1_000, 60_000].map((ms) => requests.open(key).entered(Deadline.in(clock, ms)));
  short?.catch(() => undefined);
  await clock.advance(5_000);
  await expect(short).rejects.toMatchObject({ code: 'recovering' });
  requests.decided();
  await clock.advance(1_000);
  await long;
  expect(gateways.said).toEqual([`enter 2 ${key}`]);
});

test('a gateway that ends in order first stores what it has to discard', async () => {
  const { requests, gateways } = inHand();
  requests.open(key).failed(new Failure('shutting_down', 'it leaves'));
  await requests.end();
  expect(gateways.said).toEqual([`lose ${key} failed shutting_down`, 'end me']);
});
