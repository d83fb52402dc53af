import { expect, test } from 'vitest';
import { remainingHeader } from '#src/protocol/sandboxd/wire.ts';
import { askersTime } from './askers-time.ts';

/** For an asker that says so, 1 s after its request came. */
function oneSecondLater(said: string) {
  let nowMs = 1_000_000;
  const time = askersTime({ [remainingHeader]: said }, () => nowMs);
  nowMs += 1_000;
  return time;
}

test('a step ends before its asker gives up: by 5 s, or by a quarter of a short time', () => {
  expect(oneSecondLater('60000')(300_000)).toBe(54_000);
  expect(oneSecondLater('8000')(300_000)).toBe(5_000);
});

test('a step that needs less than its asker waits keeps its own time', () => {
  expect(oneSecondLater('600000')(300_000)).toBe(300_000);
});

test('a step that comes after its asker’s time still ends by itself', () => {
  expect(oneSecondLater('1000')(300_000)).toBe(1);
});

test.each(['', 'soon', '-1', '1e9', '99999999999'])(
  'a time that cannot be read (%s) shortens nothing',
  (said) => {
    expect(oneSecondLater(said)(300_000)).toBe(300_000);
  },
);

test('an older gateway does not say how long it waits, and shortens nothing', () => {
  expect(askersTime({})(300_000)).toBe(300_000);
});
