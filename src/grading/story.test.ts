import { describe, expect, test } from 'vitest';
import { callId } from '#src/model/ids.ts';
import { rolloutKey } from '#src/model/rollout.ts';
import type { ToldCall } from '#src/ports/fleet/calls.ts';
import type { CallSummary } from '#src/ports/fleet/records.ts';
import { fakeOwner } from '#test/fakes/rollout-record.ts';
import { readCosts, readStory, writtenStory } from './story.ts';

const key = rolloutKey(fakeOwner());

const asked = { key, backgroundMs: 0 };

const summary = (over: Partial<CallSummary> = {}): CallSummary => ({
  call: callId('call_1'),
  tool: 'shell',
  state: 'settled',
  outcome: 'completed',
  code: null,
  admitted: 'yes',
  exitCode: 0,
  startedAtMs: 1_000,
  durationMs: 20,
  waitedMs: 3,
  outputBytes: 5,
  sandbox: null,
  ...over,
});
const whole = (text: string) => ({ text, whole: Buffer.byteLength(text) });
const told = (over: Partial<ToldCall> = {}): ToldCall => ({
  summary: summary(),
  arguments: whole('{"command":"ls"}'),
  output: { ...whole('a b'), endedAtMs: 1_100 },
  ...over,
});
const read = (...calls: readonly ToldCall[]) => readStory({ transcript: async () => calls }, key);
const listing = (...calls: readonly CallSummary[]) => ({ list: async () => calls });
const written = async (...calls: readonly ToldCall[]) => writtenStory(await read(...calls));

describe('the written story', () => {
  test('has every field of a call, as the page of environments names them', async () => {
    expect(await written(told())).toEqual({
      calls: [
        {
          id: 'call_1',
          tool: 'shell',
          arguments: { command: 'ls' },
          arguments_bytes: 16,
          output: 'a b',
          output_characters: 3,
          truncated: false,
          outcome: 'completed',
          code: null,
          exit_code: 0,
          started_at_ms: 1_000,
          ended_at_ms: 1_100,
          waited_ms: 3,
          duration_ms: 20,
          output_bytes: 5,
        },
      ],
      truncated: false,
      missing: { arguments: 0, outputs: 0 },
    });
  });

  test.each(['[1]', '"{}"', 'null', '{"a":', '{"a":"\0"}'])(
    'arguments %j that are no object stay the text that they are',
    async (text) => {
      expect(await written(told({ arguments: whole(text) }))).toMatchObject({
        calls: [{ arguments: null, arguments_text: text, truncated: false }],
        truncated: false,
      });
    },
  );

  test('says what was cut, call by call and together, and tells an output by its two ends', async () => {
    const cutOutput = { text: `${'a'.repeat(2_048)}${'z'.repeat(2_048)}`, whole: 70_000, endedAtMs: 1 };
    const story = await written(
      told({ arguments: { text: '{"command":"l', whole: 5_000 } }),
      told({ output: cutOutput }),
      told({ arguments: { text: '', whole: 12 }, output: { text: '', whole: 3, endedAtMs: 1 } }),
      told(),
    );
    expect(story).toMatchObject({
      calls: [
        { arguments: null, arguments_text: '{"command":"l', arguments_bytes: 5_000, truncated: true },
        {
          output: 'a'.repeat(2_048),
          output_end: 'z'.repeat(2_048),
          output_characters: 70_000,
          truncated: true,
        },
        { arguments: null, arguments_text: '', output: '', output_characters: 3, truncated: true },
        { truncated: false },
      ],
      truncated: true,
      missing: { arguments: 2, outputs: 2 },
    });
  });

  test('has no output of a call that took its sandbox down, and leaves the trainer’s own transfers out', async () => {
    const broken = told({ summary: summary({ code: 'sandbox_broken' }), output: null });
    const transfer = told({
      summary: summary({ call: callId('corral put 1') }),
      arguments: null,
      output: null,
    });
    expect(await written(broken, transfer)).toMatchObject({
      calls: [{ output: null, ended_at_ms: null, code: 'sandbox_broken' }],
      truncated: false,
    });
  });
});

describe('a story of which fleet state has forgotten a part', () => {
  test.each([
    ['arguments', { arguments: null }],
    ['an output', { output: null }],
  ])('%s: there is none, and nobody is graded by the rest', async (_what, over) => {
    await expect(read(told(), told(over))).rejects.toMatchObject({
      code: 'grader_failed',
      evidence: { calls_forgotten: 1 },
    });
  });

  test('the time of a call: there are no costs', async () => {
    await expect(readCosts(listing(summary(), summary({ durationMs: null })), asked)).rejects.toMatchObject({
      code: 'grader_failed',
    });
  });
});

test('costs are those of the model’s own calls', async () => {
  const own = [summary(), summary({ durationMs: 7, outputBytes: 9 })];
  const command = summary({ tool: 'exec', durationMs: 1_000 });
  const transfer = summary({ call: callId('corral get 1'), durationMs: 1_000 });
  expect(await readCosts(listing(...own, command, transfer), asked)).toEqual({
    timeMs: 27,
    backgroundMs: 0,
    bytes: 14,
  });
});

test('time includes what worked in the background between calls', async () => {
  const costs = await readCosts(listing(summary({ durationMs: 20 })), { key, backgroundMs: 5_000 });
  expect(costs).toMatchObject({ timeMs: 5_020, backgroundMs: 5_000 });
});
