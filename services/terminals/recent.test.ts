import { expect, it } from 'vitest';
import { Recent } from './recent.ts';

it('keeps the latest 64 KiB of what is printed, in pieces of any size', () => {
  const recent = new Recent();
  expect(recent.read()).toHaveLength(0);
  let all = '';
  for (let piece = 0; piece < 300; piece += 1) {
    const text = `${piece},`.repeat(piece % 7 === 0 ? 1 : piece * 8);
    recent.add(Buffer.from(text));
    all += text;
    expect(recent.read().toString()).toBe(all.slice(-65_536));
  }
  const long = 'x'.repeat(200_000) + 'y'.repeat(10);
  recent.add(Buffer.from(long));
  expect(recent.read().toString()).toBe(long.slice(-65_536));
});
