import { expect, test } from 'vitest';
import { mostSetupBytes } from '../ports/fleet/setup.ts';
import { SetupCopy, SetupRoom } from './setup-copy.ts';

async function* chunks(...sizes: readonly number[]) {
  for (const size of sizes) yield Buffer.alloc(size, 'x');
}

async function copied(room: SetupRoom, ...sizes: readonly number[]): Promise<SetupCopy> {
  const copy = new SetupCopy(room);
  const passed = await Array.fromAsync(copy.of(chunks(...sizes)));
  expect(passed.map(({ length }) => length)).toEqual(sizes);
  return copy;
}

test('an upload passes whole, and a copy of it is kept', async () => {
  const copy = await copied(new SetupRoom(100), 3, 2);
  expect([copy.bytes, copy.whole()?.toString()]).toEqual([5, 'xxxxx']);
});

test('each byte takes five of the room, until the copy is let go of', async () => {
  const room = new SetupRoom(50);
  const first = await copied(room, 10);
  expect((await copied(room, 1)).whole()).toBeNull();
  first.letGo();
  expect((await copied(room, 10)).whole()).toHaveLength(10);
});

test('an upload for which the room ends on its way passes, without a copy, and takes none of the room', async () => {
  const room = new SetupRoom(50);
  const copy = await copied(room, 6, 6, 6);
  expect([copy.bytes, copy.whole()]).toEqual([18, null]);
  expect((await copied(room, 10)).whole()).toHaveLength(10);
});

test('more than a rollout may have is not kept', async () => {
  const copy = await copied(new SetupRoom(Number.MAX_SAFE_INTEGER), mostSetupBytes, 1);
  expect(copy.whole()).toBeNull();
});
