import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { replaceLinks } from './links.ts';

const links = [
  { from: 'https://files.example.com/', to: 'http://127.0.31.2:13141/' },
  { from: 'https://files.example.com:8443/', to: 'http://127.0.31.3:13141/' },
];

const replaced = (pieces: readonly Buffer[]) => text(Readable.from(pieces).pipe(replaceLinks(links)));

const document = Buffer.from(
  '<a href="https://files.example.com/a">é</a> https://files.example.com:8443/ https://files.example.co https://files.example.com/',
);
const expected =
  '<a href="http://127.0.31.2:13141/a">é</a> http://127.0.31.3:13141/ https://files.example.co http://127.0.31.2:13141/';

test.each([1, 2, 7, 25, 26, 1_000])('links are replaced in pieces of %i bytes', async (size) => {
  const pieces = [];
  for (let at = 0; at < document.length; at += size) pieces.push(document.subarray(at, at + size));
  expect(await replaced(pieces)).toBe(expected);
});

test('an empty document stays empty', async () => {
  expect(await replaced([])).toBe('');
});
