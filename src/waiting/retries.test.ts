import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#test/fakes/clock.ts';
import { createFakeRandom } from '#test/fakes/random.ts';
import { Failure } from '../failure/failure.ts';
import { LinkError } from '../ports/sandbox-link.ts';
import { Deadline } from './deadline.ts';
import { GivenUp, noneFailed, NotYet, pauseAfter, retrying, type RetryLimits } from './retries.ts';
import { retryPolicies, type RetryPolicy } from './retry-policies.ts';

/** A policy whose every pause is a tenth of a second, or what chance leaves of it. */
const policy: RetryPolicy = {
  ...retryPolicies.request,
  pauses: { firstMs: 100, factor: 1, longestMs: 100 },
};
const notYet = (code: Failure['code'] = 'state_unavailable') => new Failure(code, 'not yet');

/** Tries `step` while time moves on by `forMs`. `chance` 1 leaves pauses whole. */
async function tried(
  step: (failed: number) => Promise<unknown>,
  forMs: number,
  { rule = policy, limits = {}, chance = 1 }: Trying = {},
) {
  const clock = createFakeClock();
  const startMs = clock.monotonicMs();
  const atMs: number[] = [];
  const attempt = () => {
    atMs.push(clock.monotonicMs() - startMs);
    return step(atMs.length - 1);
  };
  const deps = { clock, random: createFakeRandom([chance]) };
  const until = limits.until ?? Deadline.in(clock, 10_000);
  const end = retrying(deps, rule, attempt, { ...limits, until }).then(
    (result) => ({ result, thrown: null }),
    (thrown: unknown) => ({ result: null, thrown }),
  );
  await clock.advance(forMs);
  return { ...(await end), atMs };
}

type Trying = {
  readonly rule?: RetryPolicy;
  readonly limits?: RetryLimits;
  readonly chance?: number;
};

const failing = (times: number, thrown: () => unknown) => async (failed: number) => {
  if (failed < times) throw thrown();
  return 'done';
};

test('a step that a repeat may fix is tried again until it succeeds', async () => {
  const { result, atMs } = await tried(
    failing(3, () => notYet()),
    1_000,
  );
  expect(result).toBe('done');
  expect(atMs).toEqual([0, 100, 200, 300]);
});

test('a final failure leaves at once', async () => {
  const lost = notYet('sandbox_lost');
  const { thrown, atMs } = await tried(
    failing(1, () => lost),
    1_000,
  );
  expect(thrown).toBe(lost);
  expect(atMs).toEqual([0]);
});

test.each(['capacity_timeout', 'start_failed', 'start_timeout', 'setup_failed'] as const)(
  'a wait that ended in %s is not begun again, although the trainer may',
  async (code) => {
    const { thrown, atMs } = await tried(
      failing(1, () => notYet(code)),
      1_000,
    );
    expect(thrown).toMatchObject({ code });
    expect(atMs).toEqual([0]);
  },
);

test('no try begins without time left: the last failure leaves when no pause fits before the deadline', async () => {
  const { thrown, atMs } = await tried(
    failing(99, () => notYet('recovering')),
    10_000,
    {
      rule: { ...policy, withinMs: 250 },
    },
  );
  expect(thrown).toMatchObject({ code: 'recovering' });
  expect(atMs).toEqual([0, 100, 200]);
});

test('who asks has less time than the policy: that counts', async () => {
  const limits = { until: { remainingMs: 90 } };
  const { atMs } = await tried(
    failing(99, () => notYet()),
    10_000,
    { limits },
  );
  expect(atMs).toEqual([0]);
});

test('what a try says is to be made again is, whatever its code, and its failure leaves at the end', async () => {
  const refused = notYet('grader_failed');
  const step = failing(99, () => new NotYet(refused, 200));
  const { thrown, atMs } = await tried(step, 10_000, { rule: { ...policy, withinMs: 500 } });
  expect(thrown).toBe(refused);
  expect(atMs).toEqual([0, 200, 400]);
});

test('what was tried as often as may be leaves for good: a wait around it does not begin again, and says the same', async () => {
  const refused = new Failure('sandboxd_unreachable', 'all refused', { evidence: { trouble: 'not_sent' } });
  const inner = { ...policy, mostTries: 3 };
  const asked: number[] = [];
  const outer = () =>
    tried(
      failing(99, () => new NotYet(refused)),
      10_000,
      { rule: inner },
    ).then(({ thrown, atMs }) => {
      asked.push(atMs.length);
      throw thrown;
    });
  const { thrown, atMs } = await tried(outer, 10_000);
  expect(thrown).toMatchObject({ code: refused.code, message: refused.message, evidence: refused.evidence });
  expect([atMs, asked]).toEqual([[0], [3]]);
});

test('what only had no time left may be begun again by a wait that has', async () => {
  const rule = { ...policy, mostTries: 3, withinMs: 50 };
  const refusing = failing(99, () => new NotYet(notYet('sandboxd_unreachable')));
  const { thrown } = await tried(refusing, 10_000, { rule });
  expect(thrown).not.toBeInstanceOf(GivenUp);
});

const refused = () => new NotYet(notYet('sandboxd_unreachable'));

test('waits that share a number of tries have so many together', async () => {
  const limits = { tries: noneFailed() };
  const rule = { ...policy, mostTries: 3 };
  const first = await tried(failing(2, refused), 10_000, { rule, limits });
  const second = await tried(failing(99, refused), 10_000, { rule, limits });
  expect([first.atMs.length, second.atMs.length]).toEqual([3, 1]);
  expect(second.thrown).toBeInstanceOf(GivenUp);
});

test('a failure that another try does not fix counts for nobody who shares the number', async () => {
  const tries = noneFailed();
  await tried(
    failing(1, () => notYet('capacity_timeout')),
    1_000,
    { limits: { tries } },
  );
  expect(tries.failed).toBe(0);
});

test('one who is told to hurry makes one try more, at once, and then leaves with its failure', async () => {
  const hurry = new AbortController();
  const step = async (failed: number) => {
    if (failed === 1) setImmediate(() => hurry.abort());
    throw notYet();
  };
  const { thrown, atMs } = await tried(step, 10_000, { limits: { hurry: hurry.signal } });
  expect(thrown).toMatchObject({ code: 'state_unavailable' });
  expect(atMs).toHaveLength(3);
});

test('each failure that is tried again is told, and the last one leaves instead', async () => {
  const told: unknown[] = [];
  const limits = { onAgain: (thrown: unknown) => void told.push(thrown) };
  await tried(
    failing(99, () => notYet()),
    10_000,
    { rule: { ...policy, mostTries: 3 }, limits },
  );
  expect(told).toHaveLength(2);
});

const pausesOf = (rule: RetryPolicy, chance: number, tries: readonly number[]) =>
  tries.map((failed) => {
    const after = { thrown: notYet(), failed, remainingMs: Number.POSITIVE_INFINITY };
    return pauseAfter(rule, after, createFakeRandom([chance]));
  });

describe('pauses', () => {
  test('grow from 20 ms to a second and no further, however often is tried', () => {
    const tries = [1, 2, 3, 6, 7, 5_000];
    expect(pausesOf(retryPolicies.request, 1, tries)).toEqual([20, 40, 80, 640, 1_000, 1_000]);
  });

  test('are as short as half of that by chance, so that who failed together does not return together', () => {
    expect(pausesOf(retryPolicies.request, 0, [1, 7])).toEqual([10, 500]);
  });

  test('that are none are none after any number of tries', () => {
    expect(pausesOf(retryPolicies.anotherSandbox, 1, [1, 4])).toEqual([0, 0]);
  });
});

test('a connection that broke says nothing, and a sandbox that refuses says enough', () => {
  const { again } = retryPolicies.bind;
  expect(again(new LinkError({ kind: 'not_sent', detail: 'refused' }))).toBe(true);
  expect(again(new LinkError({ kind: 'maybe_sent', detail: 'reset' }))).toBe(true);
  expect(again(new LinkError({ kind: 'other_sandbox' }))).toBe(false);
  expect(again(notYet())).toBe(false);
});
