import { expect, it } from 'vitest';
import { createIdRanges, idsInRange } from './id-ranges.ts';

/** One machine: which of its blocks are held, and the bases that something runs in. */
function aHost(running: readonly number[] = []) {
  const held = new Set<number>();
  const holdBlock = async (block: number) => {
    if (held.has(block)) return null;
    held.add(block);
    return { release: () => void held.delete(block) };
  };
  const tools = { holdBlock, basesInUse: async () => new Set(running) };
  return { nodeAt: (block: number) => createIdRanges(block, tools) };
}

const takeMany = async (ranges: ReturnType<typeof createIdRanges>, count: number) => {
  const taken = await Promise.all(Array.from({ length: count }, () => ranges.take()));
  return taken.sort((a, b) => a - b);
};

it('no two sandboxes of one host have an id in common, of whichever node they are', async () => {
  const { nodeAt } = aHost();
  const taken = [...(await takeMany(nodeAt(3), 100)), ...(await takeMany(nodeAt(3), 100))];
  const sorted = taken.sort((a, b) => a - b);
  expect(sorted.slice(1).every((base, index) => base - (sorted[index] ?? 0) >= idsInRange)).toBe(true);
});

it('ids stay clear of people, of /etc/subuid and of what counts with a sign', async () => {
  const all = await takeMany(aHost().nodeAt(62), 63 * 64);
  expect(all[0]).toBeGreaterThanOrEqual(0x7000_0000);
  expect((all.at(-1) ?? 0) + idsInRange).toBeLessThanOrEqual(0x7ffe_0000);
});

it('a host whose ranges are all in use says so instead of giving one twice', async () => {
  const ranges = aHost().nodeAt(0);
  const all = await takeMany(ranges, 63 * 64);
  await expect(ranges.take()).rejects.toThrow(/all 4032 of this host/);
  ranges.free(all[7] ?? 0);
  expect(await ranges.take()).toBe(all[7]);
});

it('a range that was just freed is the last to be taken again', async () => {
  const ranges = aHost().nodeAt(0);
  const first = await ranges.take();
  ranges.free(first);
  expect(await takeMany(ranges, 63)).not.toContain(first);
});

it('a range in which a sandbox of a dead node still runs is left out', async () => {
  const first = await aHost().nodeAt(5).take();
  const later = aHost([first]).nodeAt(5);
  expect(await takeMany(later, 200)).not.toContain(first);
});

it('what a node held is another’s after its end', async () => {
  const { nodeAt } = aHost();
  const before = nodeAt(9);
  const base = await before.take();
  before.close();
  expect(await nodeAt(9).take()).toBe(base);
});
