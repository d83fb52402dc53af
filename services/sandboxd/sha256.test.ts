import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { sha256Hex } from './sha256.ts';

const nodes = (text: string) => createHash('sha256').update(text).digest('hex');

describe('sha256 by hand', () => {
  it('gives what the standard gives for its own examples', () => {
    expect(sha256Hex('')).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
    expect(sha256Hex('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  });

  it('agrees with Node at every length up to four blocks, and with letters of several bytes', () => {
    for (let length = 0; length <= 256; length += 1) {
      const text = Array.from({ length }, (_, index) => 'aZ9-_é€𝄞'.at((index * 7 + length) % 7)).join('');
      expect(sha256Hex(text)).toBe(nodes(text));
    }
  });
});
