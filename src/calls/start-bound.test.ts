import { expect, test } from 'vitest';
import { createFakeClock } from '#test/fakes/clock.ts';
import { fakeEnvironment } from '#test/fakes/environment.ts';
import { fakeRollout } from '#test/fakes/rollout-record.ts';
import { Failure } from '../failure/failure.ts';
import { Deadline } from '../waiting/deadline.ts';
import { longestPauseMs, startBound, unaskedMs } from './start-bound.ts';

const environment = fakeEnvironment();
const call = { key: fakeRollout().key, environment };

/** A call admitted with so much time, in a fleet that gives these answers in turn, the last for ever. */
function admitted(timeLeftMs: number | null, ...answers: readonly (number | Failure | null)[]) {
  const clock = createFakeClock();
  const asked: unknown[] = [];
  const timeLeft = async (...question: readonly unknown[]) => {
    const answer = answers[Math.min(asked.push(question), answers.length) - 1];
    if (answer instanceof Failure) throw answer;
    return answer ?? null;
  };
  return { clock, asked, bound: startBound({ calls: { timeLeft }, clock }, call, timeLeftMs) };
}

test('a call that no budget counts has no bound, and fleet state is not asked', async () => {
  const { clock, asked, bound } = admitted(null);
  await clock.advance(3_600_000);
  expect(await bound()).toEqual({});
  expect(asked).toEqual([]);
});

test('each request carries what is left of the time, and fleet state is asked when nothing is left', async () => {
  const { clock, asked, bound } = admitted(60_000, 0);
  expect(await bound()).toEqual({ startWithinMs: 60_000 });
  await clock.advance(59_999);
  expect(await bound()).toEqual({ startWithinMs: 1 });
  expect(asked).toEqual([]);
  await clock.advance(1);
  expect(await bound()).toEqual({ startWithinMs: 0 });
  expect(asked).toEqual([[call.key, environment.limits.rolloutMs]]);
});

test('time that was credited for an outage extends the bound', async () => {
  const { clock, bound } = admitted(1_000, 5_000, 0);
  await clock.advance(1_000);
  expect(await bound()).toEqual({ startWithinMs: 5_000 });
  await clock.advance(4_000);
  expect(await bound()).toEqual({ startWithinMs: 1_000 });
  await clock.advance(1_000);
  expect(await bound()).toEqual({ startWithinMs: 0 });
});

test('while fleet state cannot be asked, or does not know the rollout, no time passes', async () => {
  const away = new Failure('state_unavailable', 'Redis is away');
  const { clock, bound } = admitted(0, away, null, 0);
  expect(await bound()).toEqual({ startWithinMs: unaskedMs });
  await clock.advance(unaskedMs);
  expect(await bound()).toEqual({ startWithinMs: unaskedMs });
  await clock.advance(unaskedMs);
  expect(await bound()).toEqual({ startWithinMs: 0 });
});

const minute = 60_000;
const grace = { settleGraceMs: minute / 2 };

test.each([
  ['four times its timeout', 'native', { timeoutMs: minute }, minute, 4 * minute],
  [
    'what the request of the RFT face leaves for the answer',
    'rft',
    { timeoutMs: 5 * minute },
    9 * minute,
    3.5 * minute,
  ],
  ['nothing, if a wait in line has used that up', 'rft', { timeoutMs: 5 * minute }, 5.2 * minute, 0],
  [
    'nothing, if its client ends the stream by itself',
    'e2b',
    { timeoutMs: minute, killAtOnce: true },
    minute,
    0,
  ],
] as const)('the clock of a call may pause for %s', (_, face, request, leftMs, pauseMs) => {
  const deadline = Deadline.in(createFakeClock(), leftMs);
  expect(longestPauseMs(grace, face, request, deadline)).toBe(pauseMs);
});
