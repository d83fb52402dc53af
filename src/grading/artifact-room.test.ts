import { expect, test } from 'vitest';
import { ArtifactRoom } from './artifact-room.ts';

const forEver = new AbortController().signal;

/** Enters at once, or when there is room; leaves when it is told to. */
function holding(room: ArtifactRoom, bytes: number, patience = forEver) {
  const left = Promise.withResolvers<void>();
  const held = { entered: false, leave: () => left.resolve(), shrink: (_to: number): void => undefined };
  const over = room.hold(bytes, patience, async (shrink) => {
    Object.assign(held, { entered: true, shrink });
    await left.promise;
  });
  return { held, over };
}

const soon = () => new Promise((resolve) => setImmediate(resolve));

test('the files of many gradings never hold more memory than there is, in the order of arrival', async () => {
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
  await expect(room.hold(10, forEver, () => Promise.reject(new Error('it failed')))).rejects.toThrow(
    'it failed',
  );
  const next = holding(room, 10);
  await soon();
  expect(next.held.entered).toBe(true);
  next.held.leave();
  await next.over;
});

test('a grading whose time is up leaves its place, fails as infrastructure, and lets in one that needs less', async () => {
  const room = new ArtifactRoom(10);
  const first = holding(room, 6);
  const patience = new AbortController();
  const [second, third] = [holding(room, 6, patience.signal), holding(room, 1)];
  patience.abort();
  await expect(second.over).rejects.toMatchObject({ code: 'grader_failed' });
  await soon();
  expect([second, third].map(({ held }) => held.entered)).toEqual([false, true]);
  for (const { held, over } of [first, third]) {
    held.leave();
    await over;
  }
  const whole = holding(room, 10);
  await soon();
  expect(whole.held.entered).toBe(true);
  whole.held.leave();
  await whole.over;
});
