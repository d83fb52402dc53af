import { type Static, Type } from 'typebox';
import type { Item, Json } from '#src/model/grader.ts';
import { GradeAnswer } from '#src/protocol/native/calls.ts';
import { TrainingJobAnswer } from '#src/protocol/native/environments.ts';
import type { Connection } from '../gateway/connection.ts';
import { askNative, heldS, type HttpAnswer, type HttpClient } from '../gateway/http-client.ts';

// A gateway of the previous release does not say the limits.
const TrainingJob = Type.Pick(TrainingJobAnswer, ['tools', 'grader', 'functions']);
/** The exact `tools` and `grader` of a training job (null: the trainer's own), and the functions that the model is shown. */
export type TrainingJob = Static<typeof TrainingJob>;

/** As the gateway tells it, with the address and key that reached it: it cannot know how it looks from outside. */
export async function askTrainingJob(
  client: HttpClient,
  environment: string,
  connection: Connection,
): Promise<TrainingJob> {
  const path = `/v1/environments/${encodeURIComponent(environment)}/tools`;
  const job = await askNative(client, { method: 'GET', path }, TrainingJob);
  const seenAt = (url: string) => `${connection.url}${new URL(url).pathname}`;
  const headers = {
    authorization: `Bearer ${connection.key}`,
    ...(connection.run === null ? {} : { 'x-corral-run': connection.run }),
  };
  return {
    tools: job.tools.map(({ name, server_url }) => ({ name, server_url: seenAt(server_url), headers })),
    grader: job.grader && { type: 'endpoint', url: seenAt(job.grader.url), headers },
    functions: job.functions,
  };
}

/** A call as the platform records it and sends it to the grader. */
type OutputTool = {
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name: string; readonly arguments: string };
};

/** One rollout as a training platform drives it. */
export type TrainedRollout = {
  /**
   * `number`: which call of the rollout it is, from 1; a repeat says the same. Default: the next. Arguments that are a text go
   * as they are: a model may have written what is no JSON.
   */
  call(tool: string, args: Readonly<Record<string, unknown>> | string, number?: number): Promise<HttpAnswer>;
  /** `answer`: what the model says at the end; undefined = nothing. */
  grade(answer: Json | undefined): Promise<HttpAnswer>;
};

/** The platform's own limit of one request. */
const requestDeadlineMs = 600_000;

export function trainRollout(
  client: HttpClient,
  job: TrainingJob,
  traceId: string,
  item: Item,
): TrainedRollout {
  const calls: OutputTool[] = [];
  const post = (url: string, body: unknown) =>
    client.send({ method: 'POST', path: new URL(url).pathname, body, deadlineMs: requestDeadlineMs });
  return {
    call: (tool, args, number = calls.length + 1) => {
      const id = `call_${number}`;
      const text = typeof args === 'string' ? args : JSON.stringify(args);
      calls[number - 1] = { id, type: 'function', function: { name: tool, arguments: text } };
      const url = job.tools.find(({ name }) => name === tool)?.server_url ?? '';
      const body = { type: 'function_call', id, call_id: id, name: tool, arguments: text };
      return post(url, { ...body, item, trace_id: traceId });
    },
    grade: (answer) => {
      if (job.grader === null) throw new Error('the job has no grader: its trainer grades by itself');
      return post(job.grader.url, { sample: sampleOf(answer, calls), item, trace_id: traceId });
    },
  };
}

function sampleOf(answer: Json | undefined, calls: readonly OutputTool[]) {
  const text = answer === undefined ? '' : typeof answer === 'string' ? answer : JSON.stringify(answer);
  const json = parsed(text);
  return {
    choices: [
      { index: 0, message: { role: 'assistant', content: text, tool_calls: [] }, finish_reason: 'stop' },
    ],
    output_text: text,
    ...(json === undefined ? {} : { output_json: json }),
    output_tools: calls,
  };
}

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

type UntouchedRollout = {
  readonly client: HttpClient;
  readonly environment: string;
  readonly item: Item;
  readonly rolloutId: string;
};

/** What a grader with `changes` was brought, and its bounds. */
function changesIn({ reason }: Static<typeof GradeAnswer>['detail']): string | null {
  const [, told] = typeof reason === 'string' ? reason.split(', with ') : [];
  if (told?.includes(' changes of at most ') !== true) return null;
  // What setup writes is among them; the rest differs between two sandboxes of the image, and costs each rollout.
  return told.startsWith('0 ')
    ? told
    : `${told}: only files that setup wrote should differ; add the others to except`;
}

/**
 * Grades an answer where nothing was done, on the face that explains the score. No policy can have broken the grader there, so if
 * the grader fails and the environment scores that (`broken`), the grader itself is the cause.
 */
export async function gradeUntouched(
  { client, environment, item, rolloutId }: UntouchedRollout,
  answer: string,
): Promise<{ readonly score: number; readonly broken: string | null; readonly changes: string | null }> {
  const send = { method: 'POST', deadlineMs: 600_000 } as const;
  const opening = { rollout_id: rolloutId, environment, item };
  await askNative(client, { ...send, path: '/v1/rollouts', body: opening }, Type.Object({}));
  const path = `/v1/rollouts/${encodeURIComponent(rolloutId)}`;
  const body = { sample: sampleOf(answer, []) };
  const graded = { ...send, path: `${path}/grade?wait_s=${heldS}`, body };
  const { score, detail } = await askNative(client, graded, GradeAnswer);
  await client.send({ method: 'POST', path: `${path}/finish` });
  const broken = detail['suspected'] === undefined ? null : JSON.stringify(detail).slice(0, 400);
  return { score, broken, changes: changesIn(detail) };
}
