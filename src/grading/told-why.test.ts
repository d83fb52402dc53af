import { describe, expect, test } from 'vitest';
import { parseEvent } from '#src/adapters/event-log/event-lines.ts';
import { fakeOwner } from '#test/fakes/rollout-record.ts';
import type { Grader, Json } from '../model/grader.ts';
import { rolloutKey } from '../model/rollout.ts';
import { evaluate } from './graders/evaluate.ts';
import { noStory } from './story.ts';
import { toldWhy } from './told-why.ts';

const f1: Grader = { kind: 'f1', answer: 'output_json.files', reference: 'item.files' };
const text: Grader = {
  kind: 'text',
  answer: 'output_text',
  reference: 'item.answer',
  match: 'normalised',
  tolerance: 0,
  partialWithin: 0,
};
const program: Grader = {
  kind: 'command',
  argv: ['check'],
  files: {},
  timeoutMs: 1,
  onExit: 0.25,
  onTimeout: 0,
  onOutOfMemory: 0,
  onBroken: 0,
};
const composed: Grader = {
  kind: 'gate',
  all: [text],
  grader: {
    kind: 'penalty',
    freeCalls: 1,
    each: 0.1,
    floor: 0,
    grader: {
      kind: 'weighted',
      parts: [
        { weight: 1, grader: f1 },
        { weight: 1, grader: program },
      ],
    },
  },
};
const item = { id: 7, files: ['a', 'b'], answer: 'the truth' };

async function why(
  grader: Grader,
  sample: { [name: string]: Json },
  over: { stderr?: string; secrets?: Map<string, string> } = {},
) {
  const { stderr = '', secrets = new Map<string, string>() } = over;
  const evaluation = await evaluate(grader, {
    sample,
    item,
    toolCalls: 3,
    story: async () => noStory,
    costs: async () => ({ timeMs: 0, backgroundMs: 0, bytes: 0 }),
    runCommand: async () => ({ kind: 'bad', how: 'exit', reason: `exit code 1: ${stderr}` }),
    askJudge: async () => ({ kind: 'scored', score: 0.5 }),
  });
  if (evaluation.kind === 'discarded') throw new Error('discarded');
  return toldWhy({ grader, item, sample, stderr }, evaluation, secrets);
}

describe('why a score is what it is', () => {
  test('names the item, what was read, what was true, and every part in a line of its own', async () => {
    const told = await why(composed, { output_text: 'The Truth!', output_json: { files: ['a', 'x'] } });
    expect(told).toEqual({
      itemId: '7',
      item: JSON.stringify(item),
      answer: { output_text: 'The Truth!', 'output_json.files': '["a","x"]' },
      reference: { 'item.answer': 'the truth', 'item.files': '["a","b"]' },
      parts: [
        { part: 'gate', score: expect.closeTo(0.175, 9) as number, reason: 'every check passed' },
        {
          part: 'gate > penalty',
          score: expect.closeTo(0.175, 9) as number,
          reason: '0.2 taken off: 2 calls beyond the free ones',
        },
        {
          part: 'gate > penalty > weighted',
          score: 0.375,
          reason: 'the mean of 2 parts by weight',
        },
        {
          part: 'gate > penalty > weighted > 1 f1',
          score: 0.5,
          reason: '1 of 2 expected are among 2 answered',
        },
        { part: 'gate > penalty > weighted > 2 command', score: 0.25, reason: 'exit code 1: ' },
      ],
      stderr: '',
    });
  });

  test('no reason of a grader that compares holds the reference, because trainers are told reasons', async () => {
    for (const [grader, sample] of [
      [f1, { output_json: { files: ['x'] } }],
      [text, { output_text: 'x' }],
      [text, {}],
    ] as const) {
      const { parts } = await why(grader, sample);
      expect(JSON.stringify(parts)).not.toMatch(/truth|"a"|"b"/);
    }
  });

  test('says where a gate stopped', async () => {
    const { parts } = await why(composed, { output_text: 'no' });
    expect(parts).toEqual([
      { part: 'gate', score: 0, reason: 'check 1 of 1 did not pass' },
      { part: 'gate > text', score: 0, reason: 'does not match (normalised)' },
    ]);
  });

  test('has no secret of a judge and no key of ours, wherever one was printed', async () => {
    const secrets = new Map([['JUDGE_KEY', 'hunter2.*']]);
    const key = 'corral_trainer_0123456789abcdefABCDEF';
    const said = `token hunter2.* and ${key}`;
    const told = await why(
      composed,
      { output_text: `the truth`, output_json: { files: [said] } },
      { stderr: said, secrets },
    );
    expect(JSON.stringify(told)).not.toMatch(/hunter2|0123456789abcdef/);
    expect(told.stderr).toBe('token [secret JUDGE_KEY] and [API key]');
  });

  test('is bounded whatever a policy answers and makes its grader print, and comes back from the log as it went', async () => {
    const huge = '\0"\ud800'.repeat(300_000);
    const told = await why(f1, { output_json: { files: huge } }, { stderr: huge });
    expect(told.answer['output_json.files']).toHaveLength(2_000);
    expect(told.stderr).toHaveLength(2_000);
    const event = {
      kind: 'verdict',
      atMs: 1,
      key: rolloutKey(fakeOwner()),
      keyId: null,
      environment: 'e',
      version: 'v',
      verdict: { kind: 'scorable' },
      score: 0,
      suspected: null,
      evidence: {},
      why: told,
    };
    const line = JSON.stringify(event);
    expect(line.length).toBeLessThan(128 * 1024);
    expect(parseEvent(line)).toEqual(event);
  });

  test('does not fail on an answer that is nested deeper than anybody can write down', async () => {
    const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
    const told = await why(f1, { output_json: { files: JSON.parse(deep) as Json } });
    expect(told.answer).toEqual({ 'output_json.files': '(nested too deeply to be shown)' });
  });
});
