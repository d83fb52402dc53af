import { expect, test } from 'vitest';
import { seededRandom } from '#demo/seeded-random.ts';
import { trainingJob } from '#demo/trainer/training-job.ts';
import { createFakeClock } from '#test/fakes/clock.ts';
import { planWave, playWaves, type WavePlan } from './waves.ts';

/** A rollout that only thinks, and is then given up: nobody needs to answer it. */
const rollout = (name: string, lastsMs: number, afterMs = 0) => ({
  script: {
    rollout: name,
    item: { id: name },
    cancelled: true,
    client: { timeoutMs: 1_000, jitter: false, freshIds: false },
    steps: [{ thinkMs: lastsMs, calls: [] }],
  },
  afterMs,
});

/** Plays these waves, then such as have no rollout, until the given moment; returns when each rollout began and ended. */
async function play(plans: readonly WavePlan[], untilMs: number) {
  const clock = createFakeClock(0);
  const stopping = new AbortController();
  const job = trainingJob({
    gatewayUrl: 'http://one',
    apiKey: 'k',
    run: 'r',
    environment: 'soak',
    tools: ['shell'],
  });
  const world = {
    jobs: [job] as const,
    post: () => Promise.reject(new Error('nobody is asked')),
    clock,
    random: seededRandom('waves'),
    startMs: 0,
    stopping: stopping.signal,
    onCalling: () => undefined,
  };
  const after = { rollouts: [], gapMs: 1_000_000 };
  const playing = playWaves(
    (number) => plans[number - 1] ?? after,
    world,
    () => undefined,
  );
  await clock.advance(untilMs);
  stopping.abort();
  const waves = await playing;
  return waves.flat().map(({ rollout: name, startedMs, endedMs }) => `${name} ${startedMs}-${endedMs}`);
}

test('a wave begins when all of the one before have ended and the gap is over', async () => {
  const first = { rollouts: [rollout('a', 100), rollout('b', 300)], gapMs: 50 };
  const second = { rollouts: [rollout('c', 10), rollout('d', 10, 5)], gapMs: 50 };
  expect(await play([first, second], 1_000)).toEqual(['a 0-100', 'b 0-300', 'c 350-360', 'd 355-365']);
});

test('without a barrier each rollout that ends is replaced at once', async () => {
  const first = { rollouts: [rollout('a', 100), rollout('b', 300)], gapMs: null };
  const second = { rollouts: [rollout('c', 10), rollout('d', 10)], gapMs: 50 };
  expect(await play([first, second], 1_000)).toEqual(['a 0-100', 'b 0-300', 'c 100-110', 'd 300-310']);
});

test('when the time is up nothing more begins, and what runs comes to its end', async () => {
  const wave = { rollouts: [rollout('a', 100), rollout('b', 100, 60)], gapMs: 50 };
  expect(await play([wave], 30)).toEqual(['a 0-30']);
});

test('the same seed plans the same wave, with groups of copies of one task', () => {
  const options = { seed: '1', rollouts: 20, speed: 20 };
  expect(planWave(1, options)).toEqual(planWave(1, options));
  expect(planWave(1, options)).not.toEqual(planWave(2, options));
  const tasks = planWave(1, options).rollouts.map(({ script }) => script.item.id);
  expect(new Set(tasks).size).toBeLessThan(tasks.length);
});
