import { describe, expect, test } from 'vitest';
import { type FaultDone, reasonOf } from './faults-seen.ts';
import type { CallTruth, RolloutTruth } from './truth.ts';
import { groupMeans, isClean, verdictOf } from './verdict.ts';

const call: CallTruth = { ids: [], mischief: null, sentMs: 50, endedMs: 90, shown: null, leaked: false };

function ended(
  ending: number | 'infrastructure' | 'cancelled',
  change: Partial<RolloutTruth> = {},
): RolloutTruth {
  const endings = {
    infrastructure: { kind: 'discarded', code: 'sandbox_lost', cause: null, at: 'tool call', message: '' },
    cancelled: { kind: 'cancelled' },
  } as const;
  return {
    rollout: 'trace_1',
    group: 'task',
    startedMs: 10,
    endedMs: 90,
    calls: [call],
    ending: typeof ending === 'number' ? { kind: 'scored', score: ending } : endings[ending],
    ...change,
  };
}

describe('the mean of a group with rewards 1, 3, 2 and an infrastructure failure', () => {
  const group = [ended(1), ended(3), ended(2), ended('infrastructure'), ended('cancelled')];

  test('is 2.0: the discarded rollout is not in it', () => {
    expect(groupMeans(group, 'with')).toMatchObject([{ mean: 2, n: 3 }]);
  });

  test('is 1.5 at a trainer that has the veto switched off', () => {
    expect(groupMeans(group, 'without')).toMatchObject([{ mean: 1.5, n: 4 }]);
  });
});

const kill = (hit: FaultDone['hit'], fromMs: number, untilMs = fromMs): FaultDone => ({
  name: 'killed',
  fromMs,
  untilMs,
  hit,
});

describe('a discard', () => {
  const lost = ended('infrastructure');

  test.each([
    ['its own sandbox was hit, by the rollout', kill({ sandbox: 's1', rollout: 'trace_1' }, 20)],
    ['its own sandbox was hit, before it had a label', kill({ sandbox: 's2', rollout: null }, 5)],
    ['a part was away while its last request was tried', kill({ part: 'redis' }, 40, 60)],
  ])('is forced where %s', (_name, fault) => {
    expect(reasonOf(lost, 's2', [fault])).toBe('forced');
  });

  test.each([
    ['another sandbox was hit', kill({ sandbox: 's1', rollout: 'trace_2' }, 20)],
    ['a part was back before its last request', kill({ part: 'redis' }, 10, 40)],
    ['one of two gateways was away and the other answered 5xx', kill({ part: 'gateway' }, 40, 60)],
    ['a part died after it', kill({ part: 'redis' }, 95, 99)],
  ])('is beyond the faults where %s', (_name, fault) => {
    expect(reasonOf(lost, 's2', [fault])).toBe('beyond');
  });

  test('is forced where a connection broke while a gateway was away', () => {
    const ending = { ...lost.ending, code: 'connection_lost' } as RolloutTruth['ending'];
    expect(reasonOf({ ...lost, ending }, 's2', [kill({ part: 'gateway' }, 40, 60)])).toBe('forced');
  });

  test('is a hidden model failure where nothing was hit and its policy had broken something', () => {
    const calls = [{ ...call, mischief: 'fills_the_disk' as const }];
    expect(reasonOf(ended('infrastructure', { calls }), 's2', [])).toBe('model');
  });

  test('is the client’s own where its last try ended by its own clock', () => {
    const message = 'The operation was aborted due to timeout';
    const ending = {
      kind: 'discarded',
      code: 'connection_lost',
      cause: null,
      at: 'grader',
      message,
    } as const;
    expect(reasonOf({ ...lost, ending }, 's2', [kill({ part: 'redis' }, 40, 60)])).toBe('impatient');
  });
});

describe('the verdict', () => {
  const findings = [
    { kind: 'scored_despite_failure', rollout: 'trace_1', detail: 'first' },
    { kind: 'scored_despite_failure', rollout: 'trace_1', detail: 'again' },
  ] as const;

  test('counts a rollout once, however often it was found', () => {
    expect(verdictOf([ended(1)], findings, [])).toMatchObject({
      scoredDespiteFailure: 1,
      ranTwice: 0,
      calls: 1,
    });
  });

  test('is clean with forced discards, and with some beyond them', () => {
    const discards = (['forced', 'beyond'] as const).map((reason) => ({
      truth: ended('infrastructure'),
      reason,
    }));
    const verdict = verdictOf([ended(1)], [], discards);
    expect(verdict).toMatchObject({ discardsBeyondFaults: 1, rollouts: { discarded: { forced: 1 } } });
    expect(isClean(verdict)).toBe(true);
  });

  test('is not clean with one thing found, or one model failure discarded', () => {
    expect(isClean(verdictOf([ended(1)], findings, []))).toBe(false);
    expect(isClean(verdictOf([], [], [{ truth: ended('infrastructure'), reason: 'model' }]))).toBe(false);
  });
});
