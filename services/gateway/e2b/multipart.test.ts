import { expect, test } from 'vitest';
import { boundaryOf, partsOf } from './multipart.ts';

async function* cut(body: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < body.length; at += size) yield body.subarray(at, at + size);
}

async function read(body: Buffer, size: number) {
  const parts: { name: string; filename: string | null; text: string }[] = [];
  for await (const { name, filename, bytes } of partsOf(cut(body, size), 'B')) {
    const chunks: Buffer[] = [];
    for await (const chunk of bytes) chunks.push(chunk);
    parts.push({ name, filename, text: Buffer.concat(chunks).toString('latin1') });
  }
  return parts;
}

const part = (disposition: string, text: string) =>
  `--B\r\nContent-Disposition: form-data; ${disposition}\r\nContent-Type: x/y\r\n\r\n${text}\r\n`;
const two = Buffer.from(
  `${part('name="file"; filename="a/one %22odd%22"', 'first\r\n--\r\n-B\r\n--b')}${part('name="file"; filename="two"', '')}--B--\r\n`,
);

test.each([1, 2, 3, 7, 64, 1_000])(
  'a body that comes %i bytes at a time has the same parts',
  async (size) => {
    expect(await read(two, size)).toEqual([
      { name: 'file', filename: 'a/one "odd"', text: 'first\r\n--\r\n-B\r\n--b' },
      { name: 'file', filename: 'two', text: '' },
    ]);
  },
);

test('a part that nobody reads is passed over', async () => {
  const names: (string | null)[] = [];
  for await (const { filename } of partsOf(cut(two, 5), 'B')) names.push(filename);
  expect(names).toEqual(['a/one "odd"', 'two']);
});

test.each([
  ['ends before its last boundary', two.subarray(0, two.length - 8)],
  ['has no boundary at all', Buffer.from('nothing')],
  ['has something behind a boundary', Buffer.from('--Bx\r\n\r\n--B--')],
  ['has a part without a name', Buffer.from('--B\r\ncontent-type: x/y\r\n\r\nbytes\r\n--B--')],
  ['has headers without end', Buffer.from(`--B\r\n${'x'.repeat(20_000)}`)],
])('a body that %s is refused', async (_name, body) => {
  await expect(read(body, 1_000)).rejects.toMatchObject({ code: 'invalid_request' });
});

test('the boundary stands in the content type, quoted or not', () => {
  expect(boundaryOf('multipart/form-data; boundary=abc')).toBe('abc');
  expect(boundaryOf('Multipart/Form-Data; x=y; boundary="a b"')).toBe('a b');
  expect(boundaryOf('application/octet-stream')).toBeNull();
  expect(() => boundaryOf('multipart/form-data')).toThrow('names no boundary');
});
