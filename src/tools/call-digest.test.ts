import { expect, test } from 'vitest';
import { callDigest } from './call-digest.ts';

test('key order and the text or object form make no difference', () => {
  const digest = callDigest('shell', { command: 'ls', depth: 2 });
  expect(callDigest('shell', { depth: 2, command: 'ls' })).toBe(digest);
  expect(callDigest('shell', '{ "depth": 2, "command": "ls" }')).toBe(digest);
  expect(digest).toMatch(/^[0-9a-f]{64}$/);
});

test('another name, another value or other text makes another digest', () => {
  const digests = [
    callDigest('shell', { command: 'ls' }),
    callDigest('exec', { command: 'ls' }),
    callDigest('shell', { command: 'ls ' }),
    callDigest('shell', 'ls'),
    callDigest('shell', 'ls '),
    callDigest('shell', ['ls']),
    callDigest('shell', ['ls', '-l']),
    callDigest('shell', 7),
  ];
  expect(new Set(digests).size).toBe(digests.length);
});

test('what no command could carry still has a digest', () => {
  expect(callDigest('shell', String.raw`{"command": "\ud800"}`)).toMatch(/^[0-9a-f]{64}$/);
  expect(callDigest('shell', null)).toMatch(/^[0-9a-f]{64}$/);
});
