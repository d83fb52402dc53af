import { expect, test } from 'vitest';
import { createFakeRandom } from '#test/fakes/random.ts';
import { createFakeClock } from '#test/fakes/clock.ts';
import { fakeEnvironment } from '#test/fakes/environment.ts';
import { fakeRollout } from '#test/fakes/rollout-record.ts';
import { LinkError } from '../ports/sandbox-link.ts';
import { bindSandbox } from './bind-sandbox.ts';
import { WaitingRoom } from './waiting-room.ts';
import { Wakes } from './wakes.ts';

const refused = () => Promise.reject(new LinkError({ kind: 'not_sent', detail: 'connection refused' }));

test('a sandbox that takes no connection has its ten seconds, also while its rollout says that it is still there', async () => {
  const clock = createFakeClock();
  const rollout = fakeRollout({ state: 'claimed' });
  const claims = { onWake: () => () => undefined, renew: async () => new Set([rollout.key]) };
  const wakes = new Wakes(claims);
  const room = new WaitingRoom(claims, wakes, clock, () => undefined);
  const deps = { link: { bind: refused }, clock, random: createFakeRandom(), wakes };
  const startMs = clock.monotonicMs();
  let endedAfterMs = 0;
  const bound = room
    .attend(rollout.key, () => bindSandbox(deps, rollout, fakeEnvironment(), []))
    .catch(() => (endedAfterMs = clock.monotonicMs() - startMs));
  await clock.advance(15_000);
  await bound;
  expect(endedAfterMs).toBeGreaterThan(8_000);
  await room.close();
});
