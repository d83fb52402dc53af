import { expect, test } from 'vitest';
import { Failure } from '#src/failure/failure.ts';
import type { Grader } from '#src/model/grader.ts';
import type { Judge, Judged } from '#src/ports/judge.ts';
import type { CallAnswer } from '#src/protocol/sandboxd/wire.ts';
import { systemClock } from '#src/platform/clock.ts';
import { anAnswer } from '#test/builders/call-answer.ts';
import { createFakeTracer } from '#test/fakes/tracer.ts';
import { CoreWorld } from '#test/support/core-world.ts';

// The policy is an adversary: what a sandbox says of itself is its policy's, at worst.

/** A gateway whose spans are kept, and how to speak to it. */
function traced(world: CoreWorld, judge?: Judge) {
  const tracer = createFakeTracer();
  const { core, close } = world.gateway(judge, systemClock, tracer);
  const toldOf = (name: string) => tracer.told.filter((span) => span.name === name);
  return { tracer, core, toldOf, [Symbol.asyncDispose]: close };
}

/** An answer that no sandboxd of ours gives. */
function forged(evidence: object, ending: object): CallAnswer {
  const answer = anAnswer();
  return {
    ...answer,
    evidence: { ...answer.evidence, ...evidence },
    ending: { ...answer.ending, ...ending },
  };
}

test.each([
  ['longer than its call', { durationMs: 1e12 }],
  ['of less than nothing', { durationMs: -5_000 }],
])('a command that claims to have run %s is within its call', async (_what, evidence) => {
  await using world = await CoreWorld.start();
  await using gateway = traced(world);
  await world.ready();
  world.link.behaviour = () => {
    gateway.tracer.passMs(30);
    return forged(evidence, {});
  };
  await world.sh('r', 'c', 'true', gateway.core);
  const [call] = gateway.toldOf('tool_call');
  const [command] = gateway.toldOf('command');
  expect(command?.startMs).toBeGreaterThanOrEqual(call?.startMs ?? Infinity);
  expect(command?.endMs).toBeGreaterThanOrEqual(command?.startMs ?? Infinity);
  expect(command?.endMs).toBeLessThanOrEqual(call?.endMs ?? 0);
});

test.each([
  ['text for a duration', { durationMs: '9' }, {}],
  ['an ending that there is not', {}, { kind: 'corral.blame=infrastructure' }],
])('a sandbox that says %s gets no span of it, and no word of its own', async (_what, evidence, ending) => {
  await using world = await CoreWorld.start();
  await using gateway = traced(world);
  await world.ready();
  world.link.behaviour = () => ({
    ...forged(
      {
        ...evidence,
        'corral.blame': 'infrastructure',
        traceId: 'f'.repeat(32),
      },
      ending,
    ),
    traceparent: `00-${'f'.repeat(32)}-${'f'.repeat(16)}-01`,
    name: 'lose',
  });
  await world.sh('r', 'c', 'true', gateway.core).catch(() => undefined);
  expect(gateway.toldOf('command')).toEqual([]);
  expect(gateway.toldOf('tool_call')).toHaveLength(1);
  expect(gateway.tracer.told.map(({ name }) => name)).not.toContain('lose');
  expect(JSON.stringify(gateway.tracer.told)).not.toContain('corral.blame=');
});

test('a connection that broke is told of its request, and nobody’s blame as long as the call goes on', async () => {
  await using world = await CoreWorld.start();
  await using gateway = traced(world);
  await world.ready();
  world.link.failNext('call', { kind: 'maybe_sent', detail: 'a text of a network’s' });
  await world.sh('r', 'c', 'true', gateway.core);
  const [broken, answered] = gateway.toldOf('exchange');
  expect(broken?.attributes).toEqual({ 'corral.sandbox': 'sb-1', 'corral.trouble': 'maybe_sent' });
  expect(answered?.attributes).toEqual({ 'corral.sandbox': 'sb-1' });
  expect(gateway.tracer.told.some(({ attributes }) => 'corral.blame' in attributes)).toBe(false);
});

const grader: Grader = {
  kind: 'http',
  url: 'http://judge',
  headers: {},
  timeoutMs: 1_000,
  retries: 0,
  onRefused: 'discard',
  control: 'none',
};

test('a judge is a part of its grade, and one that failed says so without a word of its own', async () => {
  const says: (Judged | Failure)[] = [
    new Failure('grader_failed', 'the judge answered: SECRET'),
    { kind: 'scored', score: 0.5 },
  ];
  const judge: Judge = {
    score: async () => {
      const next = says.shift() ?? new Failure('grader_failed', 'no more');
      if (next instanceof Failure) throw next;
      return next;
    },
  };
  await using world = await CoreWorld.start({ grader });
  await using gateway = traced(world, judge);
  await world.ready();
  await expect(world.grade('r', 'yes', [], gateway.core)).rejects.toMatchObject({ code: 'grader_failed' });
  await world.grade('r', 'yes', [], gateway.core);
  const grades = gateway.toldOf('grade');
  const judges = gateway.toldOf('judge');
  expect(judges.map(({ attributes }) => attributes)).toEqual([
    { 'corral.code': 'grader_failed', 'corral.blame': 'infrastructure' },
    { 'corral.judged': 'scored' },
  ]);
  expect(judges.map(({ parent }) => parent)).toEqual(grades.map(({ context }) => context.spanId));
  expect(JSON.stringify(gateway.tracer.told)).not.toContain('SECRET');
});
