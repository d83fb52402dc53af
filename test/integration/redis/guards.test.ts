import { describe, expect, test } from 'vitest';
import { keyOf, minute, worldOfTests } from './world.ts';

const world = worldOfTests(2);

const guarded = { rollout: keyOf('a'), name: 'v1/0', everyGrades: 2 };
const ask = (by: string, ticket: number | null = null) =>
  world.fleet.guards.ask(guarded, { ticket, by, leaseMs: minute });
const right = (ticket: number) => world.fleet.guards.conclude(guarded, ticket, { kind: 'right' });
const wrong = (ticket: number) =>
  world.fleet.guards.conclude(guarded, ticket, { kind: 'wrong', evidence: { canary: 'empty', score: 1 } });

describe('a guarded judge', () => {
  test('is checked once before the first grades are answered, by one of those who wait', async () => {
    expect(await ask('one')).toEqual({ kind: 'check', ticket: 1 });
    expect(await ask('two')).toEqual({ kind: 'wait', ticket: 2 });
    await right(1);
    expect(await ask('two', 2)).toEqual({ kind: 'pass', ticket: 2 });
    expect(await ask('one', 1)).toEqual({ kind: 'pass', ticket: 1 });
  });

  test('is checked again after so many grades, and after a pause that ends a wave', async () => {
    expect((await ask('one')).kind).toBe('check');
    await right(1);
    expect((await ask('two')).kind).toBe('pass');
    expect(await ask('three')).toEqual({ kind: 'check', ticket: 3 });
    await right(3);
    await world.step(6 * minute);
    expect(await ask('four')).toEqual({ kind: 'check', ticket: 5 });
  });

  test('is suspect to every grade that was not answered, also of a block that was checked', async () => {
    await ask('one');
    await right(1);
    await ask('two');
    expect(await ask('three')).toEqual({ kind: 'check', ticket: 3 });
    await wrong(3);
    const evidence = { canary: 'empty', score: 1, last_right_at_ms: expect.any(Number) as number };
    expect(await ask('two', 2)).toEqual({ kind: 'suspect', ticket: 2, evidence });
    expect(await ask('three', 3)).toMatchObject({ kind: 'suspect' });
  });

  test('is checked again by the next grade after a wrong canary, and believed if it is right now', async () => {
    await ask('one');
    await wrong(1);
    expect(await ask('two')).toEqual({ kind: 'check', ticket: 3 });
    await right(3);
    expect(await ask('two', 3)).toEqual({ kind: 'pass', ticket: 3 });
    expect((await ask('one', 1)).kind).toBe('suspect');
  });

  test('that gave no evidence is asked by the next who looks; so is one whose asker died', async () => {
    await ask('one');
    await ask('two');
    await world.fleet.guards.conclude(guarded, 1, { kind: 'no_evidence' });
    expect(await ask('two', 2)).toEqual({ kind: 'check', ticket: 2 });
    expect((await ask('one', 1)).kind).toBe('wait');
    await world.step(2 * minute);
    expect((await ask('one', 1)).kind).toBe('check');
  });

  test('is another one in another run', async () => {
    await ask('one');
    await wrong(1);
    const elsewhere = { ...guarded, rollout: keyOf('a', 'run-2') };
    const asked = await world.fleet.guards.ask(elsewhere, { ticket: null, by: 'one', leaseMs: minute });
    expect(asked).toEqual({ kind: 'check', ticket: 1 });
  });

  test('begins again where its Redis has forgotten the tickets', async () => {
    expect(await ask('one', 7)).toEqual({ kind: 'check', ticket: 1 });
  });
});
