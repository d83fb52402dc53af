import { expect, test } from 'vitest';
import type { CallAnswer } from '../protocol/sandboxd/wire.ts';
import { untilEnded } from './prepare-sandbox.ts';

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
