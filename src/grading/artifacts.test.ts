import { expect, test } from 'vitest';
import { readTar } from '../protocol/sandboxd/tar.ts';
import { type Artifact, ArtifactRoom, tarOf } from './artifacts.ts';

/** Enters at once, or when there is room; leaves when it is told to. */
function holding(room: ArtifactRoom, bytes: number) {
  const left = Promise.withResolvers<void>();
  const held = { entered: false, leave: () => left.resolve(), shrink: (_to: number): void => undefined };
  const over = room.hold(bytes, async (shrink) => {
    Object.assign(held, { entered: true, shrink });
    await left.promise;
  });
  return { held, over };
}

const soon = () => new Promise((resolve) => setImmediate(resolve));

test('artifacts of many gradings have no more memory together than there is, in the order of coming', async () => {
  const room = new ArtifactRoom(10);
  const [first, second, third] = [holding(room, 6), holding(room, 6), holding(room, 1)];
  await soon();
  // The small one would fit, and would keep the large one waiting for ever.
  expect([first, second, third].map(({ held }) => held.entered)).toEqual([true, false, false]);
  first.held.shrink(3);
  await soon();
  expect([second, third].map(({ held }) => held.entered)).toEqual([true, true]);
  for (const { held, over } of [first, second, third]) {
    held.leave();
    await over;
  }
  const whole = holding(room, 10);
  await soon();
  expect(whole.held.entered).toBe(true);
  whole.held.leave();
  await whole.over;
});

test('a grading that fails gives its memory back', async () => {
  const room = new ArtifactRoom(10);
  await expect(room.hold(10, () => Promise.reject(new Error('it failed')))).rejects.toThrow('it failed');
  const next = holding(room, 10);
  await soon();
  expect(next.held.entered).toBe(true);
  next.held.leave();
  await next.over;
});

test('artifacts go on as they came: names, bytes and whether they can be run', async () => {
  const files: readonly Artifact[] = [
    { path: 'src/a b.sh', executable: true, mtimeS: 1, bytes: Buffer.from('echo') },
    { path: `deep/${'x'.repeat(150)}/ü`, executable: false, mtimeS: 2, bytes: Buffer.alloc(1_000, 255) },
    { path: 'empty', executable: false, mtimeS: 3, bytes: Buffer.alloc(0) },
  ];
  const read = await Array.fromAsync(readTar(tarOf(files)), async ({ path, mode, mtimeS, content }) => ({
    path,
    executable: (mode & 0o111) !== 0,
    mtimeS,
    bytes: Buffer.concat(await Array.fromAsync(content)),
  }));
  expect(read).toEqual(files);
});
