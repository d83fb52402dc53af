import { expect, test } from 'vitest';
import { dataDigest } from '#src/model/ids.ts';
import type { DataState } from '#src/protocol/node/parts.ts';
import { createFakeClock } from '#test/fakes/clock.ts';
import { describeData, tellData } from './told-by-node.ts';

const at = (changes: Partial<DataState>): DataState => ({
  digest: dataDigest('0123456789abcdef'),
  argv: ['node', 'make.mjs'],
  state: 'building',
  seconds: 7,
  bytes: 3_000_000,
  message: null,
  ...changes,
});

test('data is told by what runs, for how long, how much there is, and whose fault it is when there is none', () => {
  expect(describeData(at({}))).toMatch(/^data: node make\.mjs is building, 7.* s, .*MB so far$/);
  expect(describeData(at({ state: 'ready' }))).toMatch(
    /^data: node make\.mjs is ready \(.*, digest 0123456789ab\)$/,
  );
  expect(describeData(at({ state: 'failed', message: 'it ended with exit code 3.' }))).toBe(
    "data: it ended with exit code 3. The environment's author fixes it; its rollouts are answered 503 until then",
  );
});

test('it is told when it begins and ends, and every few seconds between, also by a node that was away', async () => {
  const clock = createFakeClock();
  const answers: (DataState | null)[] = [
    null,
    at({}),
    ...Array.from({ length: 6 }, () => at({})),
    at({ state: 'ready' }),
    at({ state: 'ready' }),
  ];
  const stop = new AbortController();
  const told: string[] = [];
  const ask = () => {
    const next = answers.shift();
    if (answers.length === 0) stop.abort();
    return next === null || next === undefined ? Promise.reject(new Error('away')) : Promise.resolve([next]);
  };
  const telling = tellData(ask, ({ state }) => told.push(state), clock, stop.signal);
  for (let second = 0; second < 12; second += 1) await clock.advance(1_000);
  await telling;
  expect(told).toEqual(['building', 'building', 'ready']);
});
