import { expect, test } from 'vitest';
import { sumsOf } from './report-store.ts';

test('counters become sums by outcome, code and blame; what an answer has is the model’s, and what nobody knows is ours', () => {
  const fields = new Map([
    ['rollouts', '9'],
    ['outcome:completed', '5'],
    ['outcome:infrastructure_failure', '2'],
    ['code:sandbox_lost', '2'],
    ['code:rollout_expired', '1'],
    ['code:command_timeout', '3'],
    ['code:bad_arguments', '1'],
    ['code:of_a_newer_gateway', '1'],
  ]);
  expect(sumsOf(fields)).toEqual({
    calls: { completed: 5, infrastructure_failure: 2 },
    codes: { sandbox_lost: 2, rollout_expired: 1 },
    blame: { infrastructure: 3, caller: 1, model: 4 },
  });
});
