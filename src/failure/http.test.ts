import { expect, test } from 'vitest';
import { GivenUp } from '../waiting/retries.ts';
import { Failure } from './failure.ts';
import { failureToHttp } from './http.ts';

const lasting = new Failure('start_failed', 'its folder is missing', { retry: 'no' });

test.each([lasting, new GivenUp(lasting)])(
  'a failure that a person must fix keeps the status and blame of its code, and asks for no repeat',
  (failure) => {
    expect(failureToHttp('native', failure)).toMatchObject({
      status: 503,
      headers: {},
      body: { error: { code: 'start_failed', blame: 'infrastructure', retryable: false, tainted: false } },
    });
  },
);

test('the same code without more knowledge asks for one', () => {
  expect(failureToHttp('native', new Failure('start_failed', 'exit code 1'))).toMatchObject({
    headers: { 'retry-after': '5' },
    body: { error: { retryable: true } },
  });
});
