import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { createProbe, isFailure } from './probe.ts';

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

test('a mirror fails a probe with 5xx, 429, 408 and no answer, and passes it with everything else', async () => {
  const probe = createProbe(mirrorWith(200, 404, 503, 429, 408), 0);
  const troubles = [];
  for (let count = 0; count < 6; count += 1) troubles.push(await probe('http://mirror.example/'));
  expect(troubles).toEqual([
    null,
    null,
    'it answers 503',
    'it answers 429',
    'it answers 408',
    'ECONNREFUSED',
  ]);
});

test.each([200, 304, 403, 404, 410])('the status %i of a request is no failure', (status) => {
  expect(isFailure(status)).toBe(false);
});

test('failures of one second share a probe that starts after them', async () => {
  const mirror = mirrorWith(200, 503);
  const probe = createProbe(mirror, 20);
  const first = probe('http://mirror.example/');
  const later = [probe('http://mirror.example/'), probe('http://mirror.example/')];
  expect(await first).toBeNull();
  expect(await Promise.all(later)).toEqual(['it answers 503', 'it answers 503']);
  expect(mirror.asked).toHaveLength(2);
});
