import { expect, it } from 'vitest';
import { Failure } from '#src/failure/failure.ts';
import { createFakeClock } from '#test/fakes/clock.ts';
import { createFakeLog } from '#test/fakes/log.ts';
import { createPulls, type StartPull } from './pulls.ts';
import type { StoredImage } from './store.ts';

const image: StoredImage = { id: 'a'.repeat(64), layers: [1], config: '{}', keys: ['task:1'], usedAtMs: 0 };
const refusal = new Failure('image_unavailable', 'the registry has no such image');

function setUp() {
  const clock = createFakeClock();
  const pulls = createPulls({ clock, log: createFakeLog() });
  let starts = 0;
  const join = (start: StartPull) =>
    pulls.join('task:1', 'task:1', (onTurn) => {
      starts += 1;
      return start(onTurn);
    });
  return { clock, pulls, join, starts: () => starts };
}

const fail: StartPull = () => Promise.reject(refusal);

it('all who ask for an image join one pull', async () => {
  const { pulls, join, starts } = setUp();
  const { promise, resolve } = Promise.withResolvers<StoredImage>();
  const joined = Promise.all([join(() => promise), join(() => promise), join(() => promise)]);
  resolve(image);
  await joined;
  await pulls.ended();
  expect(starts()).toBe(1);
});

it('a request for an image that takes its time is answered soon', async () => {
  const { clock, join } = setUp();
  const { promise, resolve } = Promise.withResolvers<StoredImage>();
  const asked = join(() => promise);
  await clock.advance(1_000);
  expect(await asked).toBe(1_000);
  resolve(image);
});

it('a failure is the answer for some seconds, then the image is pulled again', async () => {
  const { clock, join, starts } = setUp();
  await expect(join(fail)).rejects.toBe(refusal);
  await clock.advance(5_000);
  await expect(join(fail)).rejects.toBe(refusal);
  expect(starts()).toBe(1);
  await clock.advance(1);
  await join(() => Promise.resolve(image));
  expect(starts()).toBe(2);
});

it('a pull that kept others waiting for long and failed waits as long itself', async () => {
  const { clock, join, starts } = setUp();
  const { promise, reject } = Promise.withResolvers<StoredImage>();
  const begun = join((onTurn) => {
    onTurn();
    return promise;
  });
  await clock.advance(60_000);
  expect(await begun).toBe(1_000);
  reject(refusal);
  await expect(join(fail)).rejects.toBe(refusal);
  await clock.advance(59_000);
  await expect(join(fail)).rejects.toBe(refusal);
  expect(starts()).toBe(1);
  await clock.advance(2_000);
  await expect(join(fail)).rejects.toBe(refusal);
  expect(starts()).toBe(2);
});

it('what is no failure of an image is one of this machine', async () => {
  const { join } = setUp();
  await expect(join(() => Promise.reject(new Error('EIO')))).rejects.toMatchObject({
    code: 'provider_unavailable',
    message: 'the image task:1 could not be made ready: EIO',
  });
});
