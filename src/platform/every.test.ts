import { expect, test } from 'vitest';
import { createFakeClock, settled } from '#test/fakes/clock.ts';
import { every } from './every.ts';

function startLoop(step: (run: number) => Promise<void> = () => Promise.resolve()) {
  const clock = createFakeClock();
  const stop = new AbortController();
  const errors: unknown[] = [];
  let runs = 0;
  const loop = every(
    { intervalMs: 1_000, clock, signal: stop.signal, onError: (thrown) => errors.push(thrown) },
    () => {
      runs += 1;
      return step(runs);
    },
  );
  return { clock, stop, loop, errors, runs: () => runs };
}

test('a loop runs at once and then after each interval', async () => {
  const { clock, runs, stop, loop } = startLoop();
  await clock.advance(10);
  expect(runs()).toBe(1);
  await clock.advance(2_010);
  expect(runs()).toBe(3);
  stop.abort();
  await loop.done;
});

test('a poke runs it without waiting for the interval', async () => {
  const { clock, runs, loop, stop } = startLoop();
  await clock.advance(10);
  loop.poke();
  await settled();
  expect(runs()).toBe(2);
  stop.abort();
  await loop.done;
});

test('many pokes in one instant are answered together, and none that came during a step is lost', async () => {
  const gate = Promise.withResolvers<void>();
  const { clock, runs, loop, stop } = startLoop((run) => (run === 1 ? gate.promise : Promise.resolve()));
  await settled();
  for (let count = 0; count < 100; count += 1) loop.poke();
  gate.resolve();
  await clock.advance(100);
  expect(runs()).toBe(2);
  stop.abort();
  await loop.done;
});

test('a failing step is told and the loop goes on', async () => {
  const { clock, runs, errors, stop, loop } = startLoop((run) =>
    run === 1 ? Promise.reject(new Error('away')) : Promise.resolve(),
  );
  await clock.advance(1_100);
  expect(errors).toEqual([new Error('away')]);
  expect(runs()).toBe(2);
  stop.abort();
  await loop.done;
});

test('after the abort the loop ends when its step has ended, and leaves nobody asleep', async () => {
  const gate = Promise.withResolvers<void>();
  const { clock, loop, stop } = startLoop(() => gate.promise);
  let ended = false;
  void loop.done.then(() => (ended = true));
  await settled();
  stop.abort();
  await settled();
  expect(ended).toBe(false);
  gate.resolve();
  await loop.done;
  expect(clock.sleeping()).toBe(0);
});
