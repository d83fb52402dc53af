import { expect, it } from 'vitest';
import { productionTimings } from '../model/timings.ts';
import { readConfig } from './config.ts';
import { readTimings } from './timing-settings.ts';

const read = (text?: string) => readConfig({ CORRAL_TIMINGS: text }, readTimings);

it("without the variable, timings are production's", () => {
  expect(read()).toEqual({ timings: productionTimings, replacedTimings: null });
});

it('the variable changes the durations that it names', () => {
  expect(read('{"longestLineMs": 1000}').timings).toEqual({ ...productionTimings, longestLineMs: 1_000 });
});

it('"replaces" names the timings from which the fleet is being changed, and changes no duration', () => {
  const { timings, replacedTimings } = read('{"longestLineMs": 1000, "replaces": {"openingMs": 2000}}');
  expect(timings).toEqual({ ...productionTimings, longestLineMs: 1_000 });
  expect(replacedTimings).toEqual({ openingMs: 2_000 });
  expect(read('{"longestLineMs": 1000, "replaces": {}}').replacedTimings).toEqual({});
});

it.each([
  ['half an hour', 'not JSON'],
  ['[1]', 'not JSON'],
  ['{"requestHold": 1}', 'use a name of docs/timings.md'],
  ['{"requestHoldMs": "1s"}', 'whole milliseconds'],
  ['{"replaces": "the defaults"}', 'not the timings that these replace'],
  ['{"replaces": {"requestHold": 1}}', 'use a name of docs/timings.md'],
  ['{"requestHoldMs": 1000}', 'requestHoldMs ≥ longestLineMs does not hold'],
])('%s is a mistake that says what is wrong', (text, words) => {
  expect(() => read(text)).toThrow(words);
});
