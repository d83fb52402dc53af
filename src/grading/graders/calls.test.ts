import { describe, expect, test } from 'vitest';
import type { Grader } from '#src/model/grader.ts';
import { callId } from '#src/model/ids.ts';
import type { Outcome } from '#src/model/outcome.ts';
import type { KeptText, ToldCall } from '#src/ports/fleet/calls.ts';
import { rolloutKey } from '#src/model/rollout.ts';
import { fakeOwner } from '#test/fakes/rollout-record.ts';
import { readStory, type Story } from '../story.ts';
import { gradeByCalls } from './calls.ts';

type Told = {
  readonly tool: string;
  readonly args?: object;
  readonly asked?: KeptText;
  readonly exitCode?: number | null;
  readonly outcome?: Outcome;
  /** Seconds. */
  readonly from?: number;
  readonly to?: number | null;
};

const whole = (text: string): KeptText => ({ text, whole: Buffer.byteLength(text) });

/** One call after another, unless it says when. */
function toldCall(told: Told, index: number): ToldCall {
  const { tool, args = {}, exitCode = 0, outcome = 'completed', from = index, to = index + 0.5 } = told;
  const summary = {
    call: callId(`call_${index}`),
    tool,
    state: 'settled',
    outcome,
    code: to === null ? 'sandbox_broken' : null,
    admitted: 'yes',
    exitCode,
    startedAtMs: from * 1_000,
    durationMs: 500,
    waitedMs: 0,
    outputBytes: 2,
    sandbox: null,
  } as const;
  const output = to === null ? null : { ...whole('ok'), endedAtMs: to * 1_000 };
  return { summary, arguments: told.asked ?? whole(JSON.stringify(args)), output };
}

const storyOf = (...told: readonly Told[]): Promise<Story> =>
  readStory({ transcript: async () => told.map(toldCall) }, rolloutKey(fakeOwner()));

const item = { id: 'a', files: ['src/a.ts', './src/b.ts'] };

describe('which files were opened', () => {
  const grader = {
    kind: 'calls',
    asks: 'opened',
    reference: 'item.files',
    tools: [
      { tool: 'read_file', argument: 'path' },
      { tool: 'cat', argument: 'paths' },
    ],
  } as const satisfies Grader;
  const read = (path: unknown, over: Partial<Told> = {}): Told => ({
    tool: 'read_file',
    args: { path },
    ...over,
  });
  const score = async (told: readonly Told[], over: object = {}) =>
    gradeByCalls({ ...grader, ...over }, item, await storyOf(...told)).score;

  test.each<[string, readonly Told[], number]>([
    ['no call', [], 0],
    ['one of two', [read('src/a.ts')], 0.5],
    ['both, however they are written', [read('./src//a.ts'), read('/workspace/src/b.ts')], 1],
    ['both in one list', [{ tool: 'cat', args: { paths: ['src/a.ts', 'src/b.ts', 7] } }], 1],
    ['the same twice', [read('src/a.ts'), read('src/a.ts')], 0.5],
    ['a call that failed', [read('src/a.ts', { exitCode: 1 })], 0],
    ['a call that timed out', [read('src/a.ts', { outcome: 'timed_out', exitCode: null })], 0],
    ['another tool', [{ tool: 'shell', args: { path: 'src/a.ts' } }], 0],
    ['another argument', [{ tool: 'read_file', args: { note: 'src/a.ts' } }], 0],
    ['arguments that hold JSON of ours', [read('{"tool":"read_file","arguments":{"path":"src/a.ts"}}')], 0],
    ['an argument that is no text', [read({ path: 'src/a.ts' }), read(null), read(1)], 0],
  ])('%s', async (_what, told, expected) => {
    expect(await score(told)).toBe(expected);
  });

  test('whoever opens everything gets what the first ones earn, where only so many count', async () => {
    const dump = [read('x'), read('y'), read('z'), read('w'), read('src/a.ts'), read('src/b.ts')];
    expect(await score(dump)).toBe(1);
    expect(await score(dump, { most: { timesExpected: 2 } })).toBe(0);
    expect(await score(dump, { most: { count: 5 } })).toBe(0.5);
  });

  test('what names are too long to be kept opened nothing, takes a place, and is told', async () => {
    const cut = (index: number): Told =>
      read('', { asked: { text: '{"path":"src/a.ts', whole: 9_000 + index } });
    expect(await score([cut(0)])).toBe(0);
    const most = { most: { count: 2 } };
    expect(await score([cut(0), cut(1), read('src/a.ts')], most)).toBe(0);
    const { detail } = gradeByCalls(grader, item, await storyOf(cut(0), read('src/a.ts')));
    expect(detail).toMatchObject({
      score: 0.5,
      calls: 2,
      cut: 1,
      reason: expect.stringMatching(/1 calls were cut/),
    });
  });

  test('a row without the reference is a fault of the dataset', async () => {
    const story = await storyOf();
    expect(() => gradeByCalls(grader, { id: 'a' }, story)).toThrow(
      expect.objectContaining({ code: 'item_missing' }),
    );
  });
});

describe('a check after the last edit', () => {
  const grader = {
    kind: 'calls',
    asks: 'checked',
    edits: [{ tool: 'write_file' }, { tool: 'shell' }],
    checks: [{ tool: 'run_tests' }, { tool: 'shell', argument: 'command', is: ['npm test'] }],
    passing: true,
  } as const satisfies Grader;
  const edit: Told = { tool: 'write_file' };
  const check: Told = { tool: 'run_tests' };
  const shell = (command: string, over: Partial<Told> = {}): Told => ({
    tool: 'shell',
    args: { command },
    ...over,
  });

  test.each<[string, readonly Told[], number]>([
    ['nothing done', [], 0],
    ['a check and no edit', [check], 0],
    ['an edit and no check', [edit], 0],
    ['a check before the edit only', [check, edit], 0],
    ['edit, check', [edit, check], 1],
    ['edit, check, edit', [edit, check, edit], 0],
    ['edit, check, an edit that was refused', [edit, check, { ...edit, outcome: 'refused' }], 1],
    ['edit, check, an edit that failed half way', [edit, check, { ...edit, exitCode: 1 }], 0],
    ['a check that failed', [edit, { ...check, exitCode: 1 }], 0],
    ['a check that was refused', [edit, { ...check, outcome: 'refused', exitCode: null }], 0],
    ['a check that was begun while the edit ran', [{ ...edit, from: 0, to: 9 }, check], 0],
    ['an edit that took the sandbox down, of which nobody knows the end', [{ ...edit, to: null }, check], 0],
    ['the check by its exact command', [edit, shell(' npm test ')], 1],
    ['another command behind it', [edit, shell('npm test; sed -i s/a/b/ x')], 0],
    ['an edit by the shell after it', [edit, check, shell('sed -i s/a/b/ x')], 0],
    [
      'a shell call too long to be known',
      [edit, check, shell('', { asked: { text: '{"com', whole: 9_999 } })],
      0,
    ],
    ['a check too long to be known', [edit, shell('', { asked: { text: '', whole: 9_999 } })], 0],
  ])('%s', async (_what, told, expected) => {
    expect(gradeByCalls(grader, item, await storyOf(...told)).score).toBe(expected);
  });

  test('that failed counts where passing is not asked for', async () => {
    const story = await storyOf(edit, { ...check, exitCode: 1 });
    expect(gradeByCalls({ ...grader, passing: false }, item, story).score).toBe(1);
  });
});
