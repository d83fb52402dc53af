import { describe, expect, test } from 'vitest';
import { Failure } from '#src/failure/failure.ts';
import type { Judged, Judge } from '#src/ports/judge.ts';
import { CoreWorld } from '#test/support/core-world.ts';

const guard = {
  everyGrades: 2,
  item: { answer: 'yes' },
  canaries: [
    { name: 'injected', answer: 'flattery', atLeast: null, atMost: 0.1 },
    { name: 'reference', answer: 'yes', atLeast: 0.9, atMost: null },
  ],
};
const grader = {
  kind: 'http',
  url: 'http://judge.example/score',
  headers: {},
  timeoutMs: 1_000,
  retries: 0,
  onRefused: 0,
  control: 'none',
  guard,
} as const;

type Asked = { readonly trace_id: string; readonly sample: { readonly output_text: string } };

/** A judge that says what its state says, and remembers whom it was asked for. */
class PlayedJudge implements Judge {
  readonly asked: string[] = [];
  /** Whether flattery works on it. */
  gullible = false;
  /** Canaries get no answer. */
  silent = false;
  /** Resolves before each answer to a canary. */
  checked: Promise<unknown> = Promise.resolve();

  async score({ body }: Parameters<Judge['score']>[0]): Promise<Judged> {
    const { trace_id, sample } = JSON.parse(body.join('')) as Asked;
    this.asked.push(trace_id);
    const isCanary = trace_id.startsWith('canary-');
    if (isCanary) await this.checked;
    if (isCanary && this.silent) throw new Failure('grader_failed', 'the judge gave no answer in time');
    const isFlattered = this.gullible && sample.output_text === 'flattery';
    return { kind: 'scored', score: sample.output_text === 'yes' || isFlattered ? 1 : 0 };
  }

  get checks(): number {
    return this.asked.filter((trace) => trace === 'canary-injected').length;
  }
}

const played = async () => {
  const judge = new PlayedJudge();
  return { judge, world: await CoreWorld.start({ grader }, judge) };
};

describe('a guarded judge', () => {
  test('is checked before its first grade is answered, and again after so many', async () => {
    const { judge, world } = await played();
    await using _ended = world;
    const held = Promise.withResolvers<undefined>();
    judge.checked = held.promise;
    const first = world.grade('a', 'yes');
    await expect.poll(() => judge.checks).toBe(1);
    expect(world.events).toEqual([]);
    held.resolve(undefined);
    expect(await first).toMatchObject({ score: 1 });
    await world.grade('b', 'no');
    expect(judge.checks).toBe(1);
    await world.grade('c', 'no');
    expect(judge.checks).toBe(2);
  });

  test('that can be flattered is suspect before its first grade is answered: a discard, whatever was answered', async () => {
    const { judge, world } = await played();
    await using _ended = world;
    judge.gullible = true;
    const evidence = { judge: 'judge.example', canary: 'injected', given: 1, expected: 'at most 0.1' };
    const suspect = { code: 'judge_suspect', taints: true, evidence };
    await expect(world.grade('flatters', 'flattery')).rejects.toMatchObject(suspect);
    await expect(world.grade('honest', 'yes')).rejects.toMatchObject(suspect);
    await expect(world.grade('honest', 'yes')).rejects.toMatchObject({ code: 'judge_suspect' });
    const verdicts = world.events.filter(({ kind }) => kind === 'verdict');
    expect(verdicts).toHaveLength(2);
    expect(verdicts[0]).toMatchObject({
      verdict: { kind: 'discard', code: 'judge_suspect' },
      score: null,
      suspected: null,
    });
  });

  test('that goes bad discards no grade that was answered, and is believed again once it is repaired', async () => {
    const { judge, world } = await played();
    await using _ended = world;
    expect(await world.grade('a', 'yes')).toMatchObject({ score: 1 });
    expect(await world.grade('b', 'yes')).toMatchObject({ score: 1 });
    judge.gullible = true;
    await expect(world.grade('c', 'yes')).rejects.toMatchObject({
      code: 'judge_suspect',
      evidence: { last_right_at_ms: expect.any(Number) as number },
    });
    expect(await world.grade('a', 'no')).toMatchObject({ score: 1, replayed: true });
    judge.gullible = false;
    expect(await world.grade('d', 'yes')).toMatchObject({ score: 1 });
  });

  test('is not suspect for what a policy answers: flattery of one copy discards neither it nor its wave', async () => {
    const { judge, world } = await played();
    await using _ended = world;
    expect(await world.grade('flatters', 'flattery')).toMatchObject({ score: 0 });
    const wave = await Promise.all(['a', 'b', 'c', 'd'].map((name) => world.grade(name, 'yes')));
    expect(wave.map(({ score }) => score)).toEqual([1, 1, 1, 1]);
    expect(judge.checks).toBe(3);
  });

  test('whose canaries are not answered has said nothing: the grade waits, and then has failed, marked', async () => {
    const judge = new PlayedJudge();
    const limits = { toolCalls: 10, outputBytes: 65_536, rolloutMs: 1_800_000, idleMs: 900_000 };
    await using world = await CoreWorld.start(
      { grader, limits: { ...limits, gradeMs: 1_500, hardLifeMs: 7_200_000 } },
      judge,
    );
    judge.silent = true;
    await expect(world.grade('a', 'yes')).rejects.toMatchObject({
      code: 'grader_failed',
      evidence: { suspected: 'answer', reason: 'the judge gave no answer in time' },
    });
    expect(judge.checks).toBeGreaterThan(1);
    judge.silent = false;
    expect(await world.grade('a', 'yes')).toMatchObject({ score: 1 });
  });

  test('is checked once for all gateways: one asks, the others wait for it', async () => {
    const { judge, world } = await played();
    await using _ended = world;
    const other = world.gateway(judge);
    const held = Promise.withResolvers<undefined>();
    judge.checked = held.promise;
    const grades = [world.grade('a', 'yes'), world.grade('b', 'yes', [], other.core)];
    await expect.poll(() => judge.asked.filter((trace) => !trace.startsWith('canary-'))).toHaveLength(2);
    held.resolve(undefined);
    expect((await Promise.all(grades)).map(({ score }) => score)).toEqual([1, 1]);
    expect(judge.checks).toBe(1);
    await other.close();
  });
});
