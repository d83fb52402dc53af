import { expect, test } from 'vitest';
import { createFakeClock } from '#test/fakes/clock.ts';
import { FakeGatewayStore } from '#test/fakes/gateway-store.ts';
import { fakeOwner, fakeRollout } from '#test/fakes/rollout-record.ts';
import { Failure } from '../failure/failure.ts';
import { createFakeRandom } from '#test/fakes/random.ts';
import { rolloutKey, type RolloutKey } from '../model/rollout.ts';
import { decideBeginning, type GatewayStartDeps } from './gateway-start.ts';

function starting() {
  const gateways = new FakeGatewayStore();
  const clock = createFakeClock();
  const lost: RolloutKey[] = [];
  const deps: GatewayStartDeps = {
    gateways,
    gateway: 'me',
    clock,
    random: createFakeRandom(),
    onLost: async (rollouts) => void lost.push(...rollouts.map(({ key }) => key)),
  };
  return { deps, gateways, clock, lost, signal: new AbortController().signal };
}

const opened = fakeRollout({ key: rolloutKey(fakeOwner('opened')) });
const older = fakeRollout({ key: rolloutKey(fakeOwner('older')) });

test('a gateway that starts next to another discards nothing', async () => {
  const { deps, gateways, lost, signal } = starting();
  await decideBeginning(deps, signal);
  expect(gateways.said).toEqual(['appear me', 'begin me 0', 'keep me']);
  expect(lost).toEqual([]);
});

test('a gateway that starts alone discards all that was opened before, and only then listens', async () => {
  const { deps, gateways, lost, signal } = starting();
  gateways.beginnings = [{ kind: 'alone', atMs: 7 }];
  gateways.portions = [
    { cursor: '12', lost: [opened] },
    { cursor: null, lost: [older] },
  ];
  await decideBeginning(deps, signal);
  expect(gateways.said).toEqual([
    'appear me',
    'begin me 0',
    'sweep null before 7',
    'sweep 12 before 7',
    'keep me',
  ]);
  expect(lost).toEqual([opened.key, older.key]);
});

test('a gateway that may not be alone asks again until that is known', async () => {
  const { deps, gateways, clock, signal } = starting();
  gateways.beginnings = [
    { kind: 'unsure', atMs: 5 },
    { kind: 'unsure', atMs: 6 },
  ];
  const decided = decideBeginning(deps, signal);
  await clock.advance(400);
  await decided;
  expect(gateways.said).toEqual(['appear me', 'begin me 0', 'begin me 200', 'begin me 400', 'keep me']);
});

test('a gateway that is stopped before it knows whether it is alone never says that it listens', async () => {
  const { deps, gateways } = starting();
  gateways.beginnings = [{ kind: 'unsure', atMs: 5 }];
  const stopping = new AbortController();
  const decided = decideBeginning(deps, stopping.signal);
  stopping.abort();
  expect(await decided).toBe(false);
  expect(gateways.said).not.toContain('keep me');
});

test('a Redis that is away is asked again until it has answered', async () => {
  const { deps, gateways, clock, signal } = starting();
  gateways.failure = new Failure('state_unavailable', 'away');
  const decided = decideBeginning(deps, signal);
  await clock.advance(60_000);
  gateways.failure = null;
  await clock.advance(2_000);
  expect(await decided).toBe(true);
  expect(gateways.said).toEqual(['appear me', expect.stringMatching(/^begin me 6\d{4}$/), 'keep me']);
});
