import { beforeEach, describe, expect, test } from 'vitest';
import { callId } from '#src/model/ids.ts';
import { keysOf } from '#src/adapters/redis/keys.ts';
import {
  admitOf,
  claimOf,
  gradeAsk,
  held,
  keyOf,
  recordOf,
  second,
  settlementOf,
  worldOfTests,
} from './world.ts';

const world = worldOfTests(2);
beforeEach(async () => {
  await held(world.fleet, claimOf('a'));
});

const key = keyOf('a');
const transcriptKey = keysOf('test')('transcript', key);
const text = (written: string, whole = written.length) => ({ text: written, whole });
const transcript = () => world.fleet.calls.transcript(key);
const admit = async (call: string, asked: string, overrides = {}) =>
  world.fleet.calls.admit(
    admitOf(await recordOf(world.fleet, key), call, {
      arguments: text(asked),
      budget: { toolCalls: 5_000, rolloutMs: 60_000 },
      ...overrides,
    }),
  );
const settle = (call: string, output: string, overrides = {}) =>
  world.fleet.calls.settle(settlementOf(key, call, { output: text(output), ...overrides }));

const bytes = (texts: readonly ({ text: string } | null)[]) =>
  texts.reduce((sum, one) => sum + (one?.text.length ?? 0), 0);

describe('a transcript', () => {
  test('has each call with what it asked for and what came of it, in the order in which they began, and when they ended', async () => {
    await admit('c1', '{"command":"ls"}');
    await world.step(second);
    await settle('c1', 'a b');
    await admit('c2', '{"n":2}');
    await settle('c2', '');
    const beganMs = world.nowMs() - second;
    expect(await transcript()).toMatchObject([
      {
        summary: { call: 'c1', tool: 'shell', outcome: 'completed', exitCode: 0, startedAtMs: beganMs },
        arguments: text('{"command":"ls"}'),
        output: { ...text('a b'), endedAtMs: world.nowMs() },
      },
      { summary: { call: 'c2' }, arguments: text('{"n":2}'), output: text('') },
    ]);
  });

  test('keeps NUL bytes, line ends, leading digits and characters of every length as they are', async () => {
    const nasty = '12 34\0\r\n\n é漢😀 \u2028 o c1 a c1 ';
    await admit('c1', nasty);
    await settle('c1', nasty);
    expect(await transcript()).toMatchObject([{ arguments: text(nasty), output: text(nasty) }]);
  });

  test('has one entry for a call that was sent three times and settled twice: the first', async () => {
    await admit('c1', 'first');
    await admit('c1', 'first');
    await settle('c1', 'first');
    await settle('c1', 'second');
    await admit('c1', 'first');
    const told = await transcript();
    expect(told).toHaveLength(1);
    expect(told).toMatchObject([{ arguments: text('first'), output: text('first') }]);
  });

  test('has what a call asked for whose gateway died, when another settles it and does not know', async () => {
    await admit('c1', 'asked');
    expect(await transcript()).toMatchObject([{ arguments: text('asked'), output: null }]);
    await settle('c1', 'answered');
    expect(await transcript()).toMatchObject([{ arguments: text('asked'), output: text('answered') }]);
  });

  test('has refused calls, which are told with their settlement alone', async () => {
    await settle('c1', 'Error: bad', { arguments: text('{'), outcome: 'refused', code: 'bad_arguments' });
    expect(await transcript()).toMatchObject([
      { summary: { outcome: 'refused' }, arguments: text('{'), output: text('Error: bad') },
    ]);
  });

  test('says of a call of which nobody told it anything that it knows nothing', async () => {
    await admit('c1', '', { arguments: undefined });
    await settle('c1', '', { output: undefined });
    expect(await transcript()).toMatchObject([{ arguments: null, output: null }]);
  });

  test('forgets a call that was never sent, and the room that it took', async () => {
    const before = await world.redis.hget(transcriptKey, 'bytes');
    expect(before).toBeNull();
    await admit('c1', 'x'.repeat(1_000));
    await world.fleet.calls.unsent(key, callId('c1'), 'try-1', true);
    expect(await transcript()).toEqual([]);
    expect(await world.redis.hgetall(transcriptKey)).toEqual({ bytes: '0' });
  });

  test('takes 256 KiB of texts and no more; what has no room leaves its length, and a shorter one still fits', async () => {
    for (let index = 0; index < 100; index += 1) {
      await admit(`c${index}`, 'q'.repeat(4_096));
      await settle(`c${index}`, 'a'.repeat(4_096));
    }
    const told = await transcript();
    const asked = bytes(told.map((one) => one.arguments));
    const answered = bytes(told.map(({ output }) => output));
    expect(asked + answered).toBeLessThanOrEqual(256 * 1024);
    expect(asked).toBeGreaterThan(128 * 1024);
    expect(answered).toBeGreaterThan(90 * 1024);
    expect(told.every((one) => one.arguments?.whole === 4_096 && one.output?.whole === 4_096)).toBe(true);
    expect(await world.redis.memory('USAGE', transcriptKey, 'SAMPLES', 0)).toBeLessThan(400 * 1024);
  });

  test('of four thousand calls of nothing is bounded as the list of these calls is', async () => {
    const calls = Array.from({ length: 4_000 }, (_, index) => `call_${index}`);
    for (const call of calls) await settle(call, '', { arguments: text('{}'), outcome: 'refused' });
    expect(await transcript()).toHaveLength(4_000);
    const listBytes = Number(await world.redis.memory('USAGE', keysOf('test')('calls', key)));
    expect(await world.redis.memory('USAGE', transcriptKey, 'SAMPLES', 0)).toBeLessThan(listBytes);
  });

  test('stays while the rollout is graded, and goes with the score that closes it', async () => {
    await admit('c1', 'asked');
    await settle('c1', 'answered');
    await world.fleet.grades.begin(key, gradeAsk());
    expect(await transcript()).toMatchObject([{ arguments: text('asked') }]);
    await world.fleet.grades.score(key, 1, 0.5, {});
    expect(await world.redis.exists(transcriptKey)).toBe(0);
  });

  test('is not begun again by a call that ends after its rollout', async () => {
    await admit('c1', 'asked');
    await world.fleet.lifecycle.close(key, 'finished');
    await settle('c1', 'late');
    await settle('c2', 'never heard of', { arguments: text('x') });
    expect(await world.redis.exists(transcriptKey)).toBe(0);
  });
});
