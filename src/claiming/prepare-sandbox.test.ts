import { expect, test } from 'vitest';
import { createFakeClock } from '#test/fakes/clock.ts';
import { fakeEnvironment } from '#test/fakes/environment.ts';
import { createFakeRandom } from '#test/fakes/random.ts';
import { fakeRollout } from '#test/fakes/rollout-record.ts';
import { LinkError } from '../ports/sandbox-link.ts';
import type { CallAnswer } from '../protocol/sandboxd/wire.ts';
import { bindSandbox } from './prepare-sandbox.ts';
import { untilEnded } from './until-ended.ts';
import { WaitingRoom, Wakes } from './waiting-room.ts';

const answer = { ending: { kind: 'exited', exitCode: 0 } } as CallAnswer;

/** Ends with the answer after so many requests; notes how long each was held. */
function endingAfter(requests: number) {
  const holds: number[] = [];
  const ask = async (waitMs: number) => {
    holds.push(waitMs);
    return holds.length < requests ? 'running' : answer;
  };
  return { ask, holds };
}

test('a run that takes longer than a request is held is asked for again, and its answer comes', async () => {
  const { ask, holds } = endingAfter(2);
  expect(await untilEnded(630_000, ask)).toBe(answer);
  expect(holds).toEqual([540_000, 90_000]);
});

test('a short run is one request of its own length', async () => {
  const { ask, holds } = endingAfter(1);
  expect(await untilEnded(60_000, ask)).toBe(answer);
  expect(holds).toEqual([60_000]);
});

test('a run that does not end in time is still running, and nobody asks further', async () => {
  const { ask, holds } = endingAfter(99);
  expect(await untilEnded(1_080_000, ask)).toBe('running');
  expect(holds).toEqual([540_000, 540_000]);
});

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
    .attend(rollout.key, () => bindSandbox(deps, rollout, fakeEnvironment(), {}))
    .catch(() => (endedAfterMs = clock.monotonicMs() - startMs));
  await clock.advance(15_000);
  await bound;
  expect(endedAfterMs).toBeGreaterThan(8_000);
  await room.close();
});
