import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { createProbe, isDoubtful, isFailure, troubleIn } from './probe.ts';

/** A mirror whose answers have these statuses, one after another. */
function mirrorWith(...statuses: readonly number[]) {
  const left = [...statuses];
  const asked: string[] = [];
  const get = async (url: URL) => {
    asked.push(url.href);
    const statusCode = left.shift();
    if (statusCode === undefined) throw Object.assign(new Error('gone'), { code: 'ECONNREFUSED' });
    return Object.assign(new IncomingMessage(new Socket()), { statusCode });
  };
  return { asked, get };
}

test('a probe resolves with the status, or with why there is no answer', async () => {
  const probe = createProbe(mirrorWith(200, 503), 0);
  const said = [];
  for (let count = 0; count < 3; count += 1) said.push(await probe('http://mirror.example/'));
  expect(said).toEqual([200, 503, 'ECONNREFUSED']);
});

test.each([
  ['ECONNREFUSED', null, 'ECONNREFUSED'],
  [503, 4, 'it answers 503'],
  [429, 4, 'it answers 429'],
  [408, 4, 'it answers 408'],
  [403, 2, 'it answers 403'],
  [404, 3, 'it answers 404'],
  [302, 2, 'it answers 302'],
  [200, 2, null],
  [404, 4, null],
  [200, 4, null],
  [403, null, null],
])('a mirror that says %s, usually %s, has the trouble %s', (said, usual, trouble) => {
  expect(troubleIn(said, usual)).toBe(trouble);
});

test.each([
  [200, false, false],
  [304, false, false],
  [302, false, true],
  [401, false, true],
  [403, false, true],
  [404, false, true],
  [408, true, false],
  [429, true, false],
  [500, true, false],
])('the status %i of a request: a failure %s, doubtful %s', (status, failure, doubtful) => {
  expect([isFailure(status), isDoubtful(status)]).toEqual([failure, doubtful]);
});

test('failures of one second share a probe that starts after them', async () => {
  const mirror = mirrorWith(200, 503);
  const probe = createProbe(mirror, 20);
  const first = probe('http://mirror.example/');
  const later = [probe('http://mirror.example/'), probe('http://mirror.example/')];
  expect(await first).toBe(200);
  expect(await Promise.all(later)).toEqual([503, 503]);
  expect(mirror.asked).toHaveLength(2);
});
