import { describe, expect, test } from 'vitest';
import type { Grader, Json } from '#src/model/grader.ts';
import { noStory } from '../story.ts';
import { evaluate } from './evaluate.ts';
import type { CommandGrade, GradingContext } from './evaluation.ts';

const context = (over: Partial<GradingContext> = {}): GradingContext => ({
  sample: { output_json: { files: ['a', 'b'] } },
  item: { files: ['a', 'b'] },
  toolCalls: 0,
  story: () => Promise.resolve(noStory),
  costs: () => Promise.resolve({ timeMs: 0, backgroundMs: 0, bytes: 0 }),
  runCommand: () => Promise.resolve({ kind: 'scored', score: 1 }),
  askJudge: () => Promise.resolve({ kind: 'scored', score: 1 }),
  ...over,
});

const files: Grader = { kind: 'f1', answer: 'output_json.files', reference: 'item.files' };
const judge: Grader & { kind: 'http' } = {
  kind: 'http',
  url: 'http://judge',
  headers: {},
  timeoutMs: 1,
  retries: 0,
  onRefused: 0,
  control: 'none',
};
const command: Grader = {
  kind: 'command',
  argv: ['check'],
  files: {},
  timeoutMs: 1,
  onExit: 0,
  onTimeout: 0.1,
  onOutOfMemory: 'discard',
  onBroken: 'discard',
};

const answering = (score: number) => context({ askJudge: () => Promise.resolve({ kind: 'scored', score }) });
const ending = (grade: CommandGrade) => context({ runCommand: () => Promise.resolve(grade) });

describe('a command', () => {
  test('that wrote a score gives that score', async () => {
    const scored = { kind: 'scored', score: 0.5, suspected: null };
    expect(await evaluate(command, ending({ kind: 'scored', score: 0.5 }))).toMatchObject(scored);
  });

  test('that ended badly is worth what the environment says, and the policy is suspected', async () => {
    const timeout = ending({ kind: 'bad', how: 'timeout', reason: 'no end after 60 s' });
    const detail = { kind: 'command', score: 0.1, ended: 'timeout', reason: 'no end after 60 s' };
    expect(await evaluate(command, timeout)).toEqual({
      kind: 'scored',
      score: 0.1,
      suspected: 'command',
      detail,
    });
  });

  test('whose ending is worth no score discards the rollout, also from inside other graders', async () => {
    const broken = ending({ kind: 'bad', how: 'broken', reason: 'the disk is full' });
    const discarded = { kind: 'discarded', suspected: 'command', reason: 'the disk is full' };
    const parts = [
      { weight: 1, grader: files },
      { weight: 1, grader: command },
    ];
    expect(await evaluate(command, broken)).toEqual(discarded);
    expect(await evaluate({ kind: 'weighted', parts }, broken)).toEqual(discarded);
    expect(await evaluate({ kind: 'gate', all: [command], grader: files }, broken)).toEqual(discarded);
    const penalty: Grader = { kind: 'penalty', grader: command, freeCalls: 0, each: 1, floor: 0 };
    expect(await evaluate(penalty, broken)).toEqual(discarded);
  });
});

describe('a judge that refuses the answer', () => {
  const refused = context({ askJudge: () => Promise.resolve({ kind: 'refused', reason: 'too long' }) });

  test('is worth what the environment says, and the answer is suspected', async () => {
    expect(await evaluate({ ...judge, onRefused: -1 }, refused)).toEqual({
      kind: 'scored',
      score: -1,
      suspected: 'answer',
      detail: { kind: 'http', score: -1, ended: 'refused', reason: 'too long' },
    });
  });

  test('discards the rollout where that is no score, with the mark', async () => {
    const discarded = { kind: 'discarded', suspected: 'answer', reason: 'too long' };
    expect(await evaluate({ ...judge, onRefused: 'discard' }, refused)).toEqual(discarded);
  });
});

describe('a gate', () => {
  test('whose checks all pass gives the score of its grader', async () => {
    const gate: Grader = { kind: 'gate', all: [files], grader: judge };
    expect(await evaluate(gate, answering(0.3))).toMatchObject({ score: 0.3 });
  });

  test('stops at the first check that does not pass and asks nobody else', async () => {
    const gate: Grader = { kind: 'gate', all: [files], grader: judge };
    const asked: Grader[] = [];
    const half = context({
      sample: { output_json: { files: ['a'] } },
      askJudge: (leaf) => {
        asked.push(leaf);
        return Promise.resolve({ kind: 'scored', score: 1 });
      },
    });
    expect(await evaluate(gate, half)).toMatchObject({ score: 0, detail: { stopped_at: 0 } });
    expect(asked).toEqual([]);
  });

  test('remembers that a check was suspicious', async () => {
    const passing: Grader = { ...command, onExit: 1 };
    const crash = ending({ kind: 'bad', how: 'exit', reason: 'exit code 1' });
    const gate: Grader = { kind: 'gate', all: [passing], grader: files };
    expect(await evaluate(gate, crash)).toMatchObject({ score: 1, suspected: 'command' });
  });
});

test('weighted parts are a mean, whatever the weights add up to', async () => {
  const parts = [
    { weight: 3, grader: files },
    { weight: 1, grader: judge },
  ];
  expect(await evaluate({ kind: 'weighted', parts }, answering(0.2))).toMatchObject({ score: 0.8 });
});

const notToBeAsked = () => Promise.reject(new Error('not to be asked'));

describe('a penalty', () => {
  const penalty: Grader = { kind: 'penalty', grader: judge, freeCalls: 12, each: 0.25, floor: 0.1 };

  test.each([
    ['calls within the free ones cost nothing', 1, 12, 1],
    ['each call beyond costs', 1, 14, 0.5],
    ['the floor holds', 1, 40, 0.1],
    ['a score below the floor is not raised to it', 0.05, 40, 0.05],
  ])('%s', async (_what, before, toolCalls, score) => {
    expect(await evaluate(penalty, { ...answering(before), toolCalls })).toMatchObject({ score });
  });

  const costly: Grader = {
    ...penalty,
    time: { free: 10_000, per: 10_000, each: 0.1 },
    bytes: { free: 1_024, per: 1_024, each: 0.2 },
  };

  test.each([
    ['what is free costs nothing', { timeMs: 10_000, bytes: 1_024 }, 1],
    ['time beyond it costs, in a straight line', { timeMs: 25_000, bytes: 0 }, 0.85],
    ['bytes too, and both together', { timeMs: 20_000, bytes: 2_048 }, 0.7],
    ['the floor holds', { timeMs: 3_600_000, bytes: 0 }, 0.1],
  ])('%s', async (_what, costs, score) => {
    const spent = { ...answering(1), costs: () => Promise.resolve({ ...costs, backgroundMs: 0 }) };
    const evaluation = await evaluate(costly, spent);
    expect(evaluation).toMatchObject({ detail: { time_ms: costs.timeMs, bytes: costs.bytes } });
    expect(evaluation.kind === 'scored' && evaluation.score).toBeCloseTo(score, 9);
  });

  test('of calls alone asks for no costs, which fleet state may have forgotten', async () => {
    expect(await evaluate(penalty, { ...answering(1), costs: notToBeAsked })).toMatchObject({ score: 1 });
  });
});

test.each([Number.NaN, Number.POSITIVE_INFINITY])(
  'a score of %d is a failure of the grader',
  async (score) => {
    await expect(evaluate(judge, answering(score))).rejects.toMatchObject({ code: 'grader_failed' });
  },
);

test.each<[string, Json]>([
  ['is missing', {}],
  ['is null', { files: null }],
  ['is an object', { files: { a: 1 } }],
  ['holds objects', { files: [{ a: 1 }] }],
])('a reference that %s is a fault of the row and no score', async (_what, item) => {
  await expect(evaluate(files, context({ item: item as GradingContext['item'] }))).rejects.toMatchObject({
    code: 'item_missing',
  });
});

test('a rollout without a row cannot be compared', async () => {
  await expect(evaluate(files, context({ item: null }))).rejects.toMatchObject({ code: 'item_missing' });
});

describe('the lowest of several scores', () => {
  const strict: Grader = { ...judge, url: 'http://strict' };
  const lowest: Grader = { kind: 'lowest', of: [judge, strict] };
  const judges = (first: number, second: number | Error) =>
    context({
      askJudge: async ({ url }) => {
        if (url === judge.url) return { kind: 'scored', score: first };
        if (second instanceof Error) throw second;
        return { kind: 'scored', score: second };
      },
    });

  test('counts, whichever judge gave it', async () => {
    expect(await evaluate(lowest, judges(0.9, 0.2))).toMatchObject({ score: 0.2 });
    expect(await evaluate(lowest, judges(0.2, 0.9))).toMatchObject({ score: 0.2 });
  });

  test('does not exist where one judge fails, also after a zero of the other', async () => {
    await expect(evaluate(lowest, judges(0, new Error('silent')))).rejects.toThrow('silent');
  });

  test('does not exist where one of them is worth no score', async () => {
    const ends = ending({ kind: 'bad', how: 'broken', reason: 'the disk is full' });
    expect(await evaluate({ kind: 'lowest', of: [files, command] }, ends)).toMatchObject({
      kind: 'discarded',
    });
  });
});
