import type { Json } from '#src/model/grader.ts';
import type { HttpAnswer, HttpClient } from '../gateway/http-client.ts';
import { fill, type Known } from './fill.ts';
import { type Lost, readLoss, readOutput, readScore } from './read-answers.ts';
import type { Row } from './rows.ts';
import { type TrainingJob, trainRollout } from './training-job.ts';

/** A call of a policy; its arguments may have placeholders, see {@link fill}. */
export type Step = { readonly tool: string; readonly arguments: Readonly<Record<string, Json>> };

/** What a policy does: calls, then the last message; or a program that decides both as it goes. */
export type Script = {
  readonly steps: readonly Step[];
  readonly answer: Answer;
  readonly drive?: Drive;
};

/** Makes the calls, and says the last message. */
export type Drive = (rollout: DrivenRollout) => Promise<Json | undefined>;

export type DrivenRollout = {
  readonly row: Row;
  /** Which rollout of this policy on this row it is, from 1: what its chance begins with. */
  readonly copy: number;
  /** One call, and the text that the model gets. */
  readonly call: (tool: string, args: Readonly<Record<string, Json>>) => Promise<string>;
};

/** The last message: nothing, a template, or what is made of the calls' outputs and taken as it is. */
export type Answer = Json | undefined | ((outputs: readonly string[]) => Json);

/** How one rollout ended: with a score, or lost. A lost rollout has no score, and never a zero. */
export type Played = { readonly calls: number; readonly outputs: readonly string[] } & (
  | { readonly score: number }
  | { readonly lost: Lost }
);

export type Stage = { readonly client: HttpClient; readonly job: TrainingJob };

/** Plays a script on a row by the addresses that a training platform uses, and has it graded. */
export async function play(
  stage: Stage,
  traceId: string,
  row: Row,
  script: Script,
  copy = 1,
): Promise<Played> {
  const rollout = trainRollout(stage.client, stage.job, traceId, row.item);
  const outputs: string[] = [];
  let begun = 0;
  const call: DrivenRollout['call'] = async (tool, args) => {
    const number = (begun += 1);
    const answer = await patiently(() => rollout.call(tool, args, number));
    const output = readOutput(answer);
    if (output === null) throw new CallLost(readLoss(answer, tool));
    outputs.push(output);
    return output;
  };
  try {
    const said = await (script.drive ?? driveBySteps(script, outputs))({ row, copy, call });
    const graded = await patiently(() => rollout.grade(said));
    const score = readScore(graded);
    const calls = outputs.length;
    return typeof score === 'number'
      ? { calls, outputs, score }
      : { calls, outputs, lost: readLoss(graded, 'the grader') };
  } catch (error) {
    if (error instanceof CallLost) return { calls: outputs.length, outputs, lost: error.lost };
    throw error;
  }
}

/** A call that was not answered for the model ends the rollout, whatever a script would do next. */
export class CallLost extends Error {
  readonly lost: Lost;
  constructor(lost: Lost) {
    super(lost.message);
    this.lost = lost;
  }
}

const driveBySteps =
  ({ steps, answer }: Script, outputs: readonly string[]): Drive =>
  async ({ row, copy, call }) => {
    const known: Known = { row, outputs, copy };
    for (const step of steps) await call(step.tool, filledArguments(step, known));
    return lastMessage(answer, known);
  };

function lastMessage(answer: Answer, known: Known): Json | undefined {
  if (typeof answer === 'function') return answer(known.outputs);
  return answer === undefined ? undefined : fill(answer, known);
}

const filledArguments = (step: Step, known: Known): Readonly<Record<string, Json>> =>
  Object.fromEntries(Object.entries(step.arguments).map(([name, value]) => [name, fill(value, known)]));

/** As often as platforms repeat a request that was answered 5xx. */
const mostTries = 4;

/** The same request again, as platforms do it; what the last answer says is what they would go by. */
export async function patiently(send: () => Promise<HttpAnswer>): Promise<HttpAnswer> {
  for (let tries = 1; ; tries += 1) {
    const answer = await send();
    if (answer.status < 500 || tries === mostTries) return answer;
  }
}

/**
 * Does all the work, at most `atOnce` pieces of it at the same time, and takes a piece only when it can be done: work that is
 * read from a disk is never in memory whole. Results in the order of the work.
 */
export async function eachOf<Work, Result>(
  work: Iterable<Work> | AsyncIterable<Work>,
  atOnce: number,
  run: (one: Work, index: number) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  const waiting = oneByOne(work);
  let taken = 0;
  const lane = async () => {
    for await (const one of waiting) {
      const index = taken++;
      results[index] = await run(one, index);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
  return results;
}

/** All lanes ask the same one. */
async function* oneByOne<Work>(work: Iterable<Work> | AsyncIterable<Work>): AsyncGenerator<Work> {
  yield* work;
}
