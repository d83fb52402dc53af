import { expect, it } from 'vitest';
import { Outputs } from './answer.ts';

const printed = (bytes: number) => {
  const stdout = { head: Buffer.alloc(bytes), tail: Buffer.alloc(0), totalBytes: bytes };
  return { stdout, stderr: { head: Buffer.alloc(0), tail: Buffer.alloc(0), totalBytes: 0 } };
};

it('what has ended makes way for what begins, the oldest first', () => {
  const outputs = new Outputs(100);
  for (const call of ['a', 'b']) {
    expect(outputs.reserve(50)).toBe(true);
    outputs.keep(call, 50, printed(40));
  }
  expect(outputs.reserve(50)).toBe(true);
  expect(outputs.find('a')).toBeUndefined();
  expect(outputs.find('b')?.stdout.head).toHaveLength(40);
});

it('what runs keeps its room: a third is told that there is none', () => {
  const outputs = new Outputs(100);
  expect([outputs.reserve(50), outputs.reserve(50), outputs.reserve(50)]).toEqual([true, true, false]);
  outputs.keep('a', 50, null);
  expect(outputs.reserve(50)).toBe(true);
});

it('more than there is room for at all is never kept', () => {
  expect(new Outputs(100).reserve(101)).toBe(false);
});
