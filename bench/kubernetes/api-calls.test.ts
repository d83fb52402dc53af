import { expect, test } from 'vitest';
import { apiCalls, callsBetween, readsIn, writesIn } from './api-calls.ts';

const line = (verb: string, code: string, count: number) =>
  `corral_kubernetes_calls_total{verb="${verb}",resource="pods",code="${code}"} ${count}`;

test('calls count whatever their answer was, watches are neither reads nor writes', () => {
  const before = apiCalls(line('create', '201', 2));
  const after = apiCalls(
    [
      line('create', '201', 5),
      line('create', 'timeout', 1),
      line('patch', '200', 3),
      line('list', '200', 1),
      line('watch', '200', 9),
      'corral_kubernetes_call_duration_seconds_count{verb="create",resource="pods"} 6',
    ].join('\n'),
  );
  const between = callsBetween(before, after);
  expect(between).toEqual({ create: 4, patch: 3, delete: 0, get: 0, list: 1 });
  expect([writesIn(between), readsIn(between)]).toEqual([7, 1]);
});
