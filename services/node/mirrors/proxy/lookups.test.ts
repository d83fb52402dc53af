import { expect, test } from 'vitest';
import { reachable } from '../addresses.ts';
import { createLookups } from './lookups.ts';

const isOpen = reachable([], () => []);

/** As a connection asks. `answers`: of the name, one look-up after the other. */
function asking(...answers: readonly (readonly string[])[]) {
  let count = 0;
  let nowMs = 0;
  const lookup = createLookups(
    isOpen,
    (_host, _options, callback) => {
      const found = answers[count] ?? [];
      count += 1;
      callback(
        null,
        found.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
      );
    },
    () => nowMs,
  );
  return {
    ask: (all = true) =>
      new Promise((resolve) => {
        lookup('mirror.example', { all }, (error, found) => resolve(error?.code ?? found));
      }),
    count: () => count,
    forget: () => {
      nowMs += 30_001;
    },
  };
}

test('a name leads to its open addresses only, and to none if all are closed', async () => {
  const { ask, forget } = asking(['127.0.0.1', '1.1.1.1'], ['127.0.0.1', '::1'], []);
  expect(await ask()).toEqual([{ address: '1.1.1.1', family: 4 }]);
  expect(await ask(false)).toBe('1.1.1.1');
  forget();
  expect(await ask()).toBe('EADDRCLOSED');
  forget();
  expect(await ask()).toBe('EADDRCLOSED');
});

test('a name that is rebound to the loopback a moment later leads nowhere', async () => {
  const { ask, forget } = asking(['1.1.1.1'], ['127.0.0.1']);
  expect(await ask()).toEqual([{ address: '1.1.1.1', family: 4 }]);
  forget();
  expect(await ask()).toBe('EADDRCLOSED');
});

test('many requests share one look-up', async () => {
  const { ask, count } = asking(['1.1.1.1'], ['1.1.1.1']);
  await Promise.all(Array.from({ length: 100 }, () => ask()));
  expect(count()).toBe(1);
});
