import { expect, test } from 'vitest';
import { type BurstShape, planBurst, planTrials } from './plan-burst.ts';

const shape: BurstShape = {
  seed: '1',
  rollouts: 100,
  groups: 8,
  calls: 12,
  arrival: 'spike',
  newConnections: 0.5,
  speed: 10,
  item: { answer: '42', image: 'x' },
  answer: '42',
};
const callsOf = (steps: readonly { readonly calls: readonly unknown[] }[]) =>
  steps.flatMap(({ calls }) => calls);

test('the same seed plans the same burst, and each wave another', () => {
  expect(planBurst(1, shape)).toEqual(planBurst(1, shape));
  expect(planBurst(2, shape)).not.toEqual(planBurst(1, shape));
});

test('no rollout has more calls than are allowed, and the last of each reads back what the others left', () => {
  const steps = planBurst(1, shape).map(({ script }) => script.steps);
  expect(Math.max(...steps.map((each) => callsOf(each).length))).toBe(12);
  const nothing = [{ sleepMs: 0, outputBytes: 0, mischief: null }];
  for (const each of steps) expect(each.at(-1)?.calls).toEqual(nothing);
});

test('the first commands do no work, so that the first answer is the time of the fleet', () => {
  for (const { script } of planBurst(1, shape)) {
    expect(script.steps[0]?.thinkMs).toBe(0);
    for (const { sleepMs, mischief } of script.steps[0]?.calls ?? [])
      expect([sleepMs, mischief]).toEqual([0, null]);
  }
});

test('nothing hangs, prints without end, or hurts the machine of others', () => {
  const works = [1, 2, 3]
    .flatMap((wave) => planBurst(wave, { ...shape, calls: 38 }))
    .flatMap(({ script }) => callsOf(script.steps));
  expect(works).toHaveLength(
    works.filter((work) => Number.isFinite((work as { sleepMs: number }).sleepMs)).length,
  );
  const mischiefs = new Set(works.map((work) => (work as { mischief: string | null }).mischief));
  expect(mischiefs).toContain('looks_out_of_memory');
  for (const harm of ['kills_what_it_can', 'fills_the_disk', 'eats_memory'])
    expect(mischiefs).not.toContain(harm);
});

test('rollouts of a group have one row, half of them answer it rightly, half open new connections', () => {
  const burst = planBurst(1, shape);
  expect(new Set(burst.map(({ script }) => script.item.id)).size).toBe(13);
  expect(burst[0]?.script.item).toEqual({ id: 'load-1-1', answer: '42', image: 'x' });
  for (const { script, isRight } of burst) expect(script.answer).toBe(isRight ? '42' : '');
  const share = (of: (one: (typeof burst)[number]) => boolean) => burst.filter(of).length;
  expect(share(({ isRight }) => isRight)).toBeGreaterThan(30);
  expect(share(({ isRight }) => !isRight)).toBeGreaterThan(30);
  expect(share(({ opensAnew }) => opensAnew)).toBeGreaterThan(30);
  expect(share(({ opensAnew }) => !opensAnew)).toBeGreaterThan(30);
});

test('the trials give each answer alone, under names of their own', () => {
  const { right, wrong } = planTrials(shape);
  expect([right.answer, wrong.answer]).toEqual(['42', '']);
  expect(right.rollout).not.toBe(wrong.rollout);
});
