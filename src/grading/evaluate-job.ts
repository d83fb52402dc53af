import { Failure } from '../failure/failure.ts';
import type { Written } from '../model/written.ts';
import type { Judge, Judged } from '../ports/judge.ts';
import { type GradeJob, readSample, tooLongBytes } from './job.ts';
import { evaluate } from './graders/evaluate.ts';
import type { Evaluation, Leaf, Sample } from './graders/evaluation.ts';
import { type CommandGraderDeps, runCommandGrader } from './run-command-grader.ts';

export type EvaluateDeps = CommandGraderDeps & {
  readonly judge: Judge;
  /** Resolves `{secret: NAME}`; undefined when this gateway does not have it. */
  readonly secret: (name: string) => string | undefined;
};

/** Runs the environment's grader for one rollout: pure parts here, commands in its sandbox, judges over HTTP. */
export async function evaluateJob(deps: EvaluateDeps, job: GradeJob): Promise<Evaluation> {
  const { brought } = job;
  if (brought !== null)
    return { kind: 'scored', score: brought, detail: { kind: 'none', score: brought }, suspected: null };
  const bytes = tooLongBytes(job.sample);
  if (bytes !== null) return tooLong(job.environment.onTooLong, bytes);
  return evaluate(job.environment.grader, {
    get sample() {
      return readSample(job.sample);
    },
    item: job.item,
    toolCalls: job.rollout.calls,
    runCommand: (leaf) => runCommandGrader(deps, job, leaf),
    askJudge: (leaf) => askJudge(deps, job, leaf),
  });
}

/** The model's own doing, so no grader is asked and nothing is discarded for it. */
function tooLong(score: number, bytes: number): Evaluation {
  return { kind: 'scored', score, detail: { kind: 'too_long', score, bytes }, suspected: null };
}

function askJudge(deps: EvaluateDeps, job: GradeJob, leaf: Leaf<'http'>): Promise<Judged> {
  const { url, timeoutMs, retries } = leaf;
  const others = JSON.stringify({ item: job.item, trace_id: job.rollout.owner.rollout });
  const asking = (sample: string) => `{"sample":${sample},${others.slice(1)}`;
  // The sample goes on as it came, however deep it is and whatever numbers it holds.
  const body = asking(textOf(job.sample));
  const control = asking(JSON.stringify(sampleOfText(leaf.control)));
  const request = { url, headers: headersOf(deps, leaf), body, control, timeoutMs, retries };
  return deps.judge.score(request, AbortSignal.timeout(job.deadline.remainingMs));
}

const textOf = (sample: Written): string => (typeof sample === 'string' ? sample : '{}');

function headersOf(deps: EvaluateDeps, leaf: Leaf<'http'>): Record<string, string> {
  const resolved = Object.entries(leaf.headers).map(([name, value]) => {
    if (typeof value === 'string') return [name, value];
    const secret = deps.secret(value.secret);
    if (secret !== undefined) return [name, secret];
    throw new Failure(
      'grader_failed',
      `the judge needs the secret ${value.secret}, which this gateway does not have`,
    );
  });
  return Object.fromEntries(resolved) as Record<string, string>;
}

/** A sample as platforms send it, of a rollout without calls that ends with this text. */
function sampleOfText(text: string): Sample {
  const json = parsed(text);
  const message = { role: 'assistant', content: text, tool_calls: [] };
  return {
    choices: [{ index: 0, message, finish_reason: 'stop' }],
    output_text: text,
    ...(json === undefined ? {} : { output_json: json }),
    output_tools: [],
  };
}

function parsed(text: string): Sample[string] | undefined {
  try {
    return JSON.parse(text) as Sample[string];
  } catch {
    return undefined;
  }
}
