import { neverBegan } from '../calls/cancel.ts';
import { Failure } from '../failure/failure.ts';
import type { Json } from '../model/grader.ts';
import { isIdText } from '../model/ids.ts';
import type { CallStore, KeptText, ToldCall } from '../ports/fleet/calls.ts';
import type { CallSummary, RolloutRecord } from '../ports/fleet/records.ts';

/**
 * What a rollout's calls were, as graders are told: each with what it asked for and what came of it, in the order in which
 * they began. Long texts are cut, and it says so. What was not cut and is not there was lost by us: then there is no story,
 * because half of one would be graded as the whole.
 */
export type Story = {
  readonly calls: readonly StoryCall[];
  /** Calls of which a text is not whole. */
  readonly missing: { readonly arguments: number; readonly outputs: number };
};

/** What all of its commands took together; `timeMs` includes `backgroundMs`, which they worked between calls. */
export type Costs = { readonly timeMs: number; readonly backgroundMs: number; readonly bytes: number };

/** What is told of a call beside its texts. */
type ToldSummary = Pick<
  CallSummary,
  'tool' | 'outcome' | 'code' | 'exitCode' | 'startedAtMs' | 'waitedMs' | 'durationMs' | 'outputBytes'
> & { readonly call: string };

export type StoryCall = {
  readonly summary: ToldSummary;
  /** What the model wrote, where it is a JSON object and whole. */
  readonly arguments: { readonly [name: string]: Json } | null;
  readonly asked: KeptText;
  /** Null where the sandbox went down under the call. */
  readonly output: (KeptText & { readonly endedAtMs: number }) | null;
};

/** Throws `grader_failed` where fleet state has forgotten something of it, and what reading it throws. */
export async function readStory(calls: Pick<CallStore, 'transcript'>, key: ToldKey): Promise<Story> {
  const recorded = await calls.transcript(key);
  const told = recorded.filter(({ summary }) => isIdText(summary.call) && !neverBegan(summary));
  const forgotten = told.filter(isForgotten);
  if (forgotten.length > 0) {
    throw new Failure(
      'grader_failed',
      `fleet state has forgotten what ${forgotten.length} of ${told.length} calls said, and the grader looks at all of them`,
      {
        evidence: { calls_forgotten: forgotten.length, first_forgotten: forgotten[0]?.summary.call ?? null },
      },
    );
  }
  const story = told.map(storyCall);
  const missing = {
    arguments: story.filter(({ asked }) => !isWhole(asked, Buffer.byteLength(asked.text))).length,
    outputs: story.filter(({ output }) => output !== null && !isWhole(output, output.text.length)).length,
  };
  return { calls: story, missing };
}

/** Of a rollout that did nothing. */
export const noStory: Story = { calls: [], missing: { arguments: 0, outputs: 0 } };

/**
 * What the calls of the model took together, and what worked between them: a command that goes on in the background is no
 * cheaper than one that the model waits for. The trainer's own commands are as free here as in its budget. Throws
 * `grader_failed` where fleet state has forgotten what one took.
 */
export async function readCosts(
  calls: Pick<CallStore, 'list'>,
  { key, backgroundMs }: Pick<RolloutRecord, 'key' | 'backgroundMs'>,
): Promise<Costs> {
  const listed = await calls.list(key);
  const own = listed.filter(({ call, tool }) => isIdText(call) && tool !== 'exec');
  const forgotten = own.filter(({ durationMs }) => durationMs === null).length;
  if (forgotten > 0) {
    throw new Failure('grader_failed', `fleet state has forgotten what ${forgotten} calls took`, {
      evidence: { calls_forgotten: forgotten },
    });
  }
  return {
    timeMs: backgroundMs + sum(own.map(({ durationMs }) => durationMs ?? 0)),
    backgroundMs,
    bytes: sum(own.map(({ outputBytes }) => outputBytes)),
  };
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);

type ToldKey = Parameters<CallStore['transcript']>[0];

/** What went down with its sandbox, by the model's own doing, has no output. */
function isForgotten({ summary, arguments: asked, output }: ToldCall): boolean {
  return asked === null || (output === null && summary.code !== 'sandbox_broken');
}

function storyCall({ summary, arguments: asked, output }: ToldCall): StoryCall {
  const said = asked ?? { text: '', whole: 0 };
  const whole = isWhole(said, Buffer.byteLength(said.text));
  return { summary, asked: said, arguments: whole ? objectIn(said.text) : null, output };
}

const isWhole = ({ whole }: KeptText, kept: number): boolean => kept === whole;

function objectIn(text: string): StoryCall['arguments'] {
  try {
    const value = JSON.parse(text) as Json;
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as { readonly [name: string]: Json }) : null;
  } catch {
    return null;
  }
}

/** The calls as programs and judges read them; docs/environments.md has every field. */
export function writtenStory({ calls, missing }: Story): { readonly [name: string]: Json } {
  const truncated = missing.arguments + missing.outputs > 0;
  return { calls: calls.map(writtenCall), truncated, missing };
}

function writtenCall({ summary, arguments: parsed, asked, output }: StoryCall): Json {
  const { call, tool, outcome, code, exitCode, startedAtMs, waitedMs, durationMs, outputBytes } = summary;
  const isCut = output !== null && !isWhole(output, output.text.length);
  const half = output === null ? 0 : output.text.length / 2;
  return {
    id: call,
    tool,
    arguments: parsed,
    ...(parsed === null && { arguments_text: asked.text }),
    arguments_bytes: asked.whole,
    output: output === null ? null : isCut ? output.text.slice(0, half) : output.text,
    ...(isCut && { output_end: output.text.slice(half) }),
    output_characters: output?.whole ?? 0,
    truncated: isCut || !isWhole(asked, Buffer.byteLength(asked.text)),
    outcome,
    code,
    exit_code: exitCode,
    started_at_ms: startedAtMs,
    ended_at_ms: output?.endedAtMs ?? null,
    waited_ms: waitedMs,
    duration_ms: durationMs,
    output_bytes: outputBytes,
  };
}
