import { expect, it } from 'vitest';
import { productionTimings } from '../model/timings.ts';
import { readConfig } from './config.ts';
import { readTimings } from './timing-settings.ts';

const read = (text?: string) => readConfig({ CORRAL_TIMINGS: text }, readTimings);

it("without the variable, timings are production's", () => {
  expect(read()).toEqual(productionTimings);
});

it('the variable changes the durations that it names', () => {
  expect(read('{"longestLineMs": 1000}')).toEqual({ ...productionTimings, longestLineMs: 1_000 });
});

it.each([
  ['half an hour', 'not JSON'],
  ['[1]', 'not JSON'],
  ['{"requestHold": 1}', 'use a name of docs/timings.md'],
  ['{"requestHoldMs": "1s"}', 'whole milliseconds'],
  ['{"requestHoldMs": 1000}', 'requestHoldMs ≥ longestLineMs does not hold'],
])('%s is a mistake that says what is wrong', (text, words) => {
  expect(() => read(text)).toThrow(words);
});
