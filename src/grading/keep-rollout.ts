import { demandedAmounts } from '../claiming/kept-demands.ts';
import type { CallStore } from '../ports/fleet/calls.ts';
import type { KeepRollout, KeptRollout } from '../ports/kept-rollouts.ts';
import { wholeRollout } from './evaluate-job.ts';
import type { GradeJob } from './job.ts';
import { readStory } from './story.ts';

export type KeepDeps = {
  readonly calls: Pick<CallStore, 'transcript'>;
  readonly clock: { readonly nowMs: () => number };
  readonly keep: KeepRollout;
  /** Without secrets, whoever said them. */
  readonly redact: (job: GradeJob, text: string) => string;
  readonly onTrouble: (error: unknown) => void;
};

/** The largest sample that is graded by what it says, and all that is kept of its calls. */
const mostDocumentCharacters = 3 * 1024 * 1024;

/** Keeps it with this score, once that is stored. */
export type Keep = (score: number) => void;

const nothing: Keep = () => undefined;

/**
 * Takes down what a grader saw of a rollout, where its environment says so; before its score is stored, because fleet state
 * lets go of what its calls said then. What goes wrong here is the operator's to hear, and costs nobody a reward.
 */
export async function toKeep(
  deps: KeepDeps,
  job: GradeJob,
  { artifacts }: Pick<KeptRollout, 'artifacts'>,
): Promise<Keep> {
  if (job.environment.keep === undefined || job.brought !== null) return nothing;
  try {
    const document = deps.redact(job, wholeRollout(job, await readStory(deps.calls, job.rollout.key)));
    if (document.length > mostDocumentCharacters)
      throw new RangeError(`${job.rollout.key} is not kept: it has ${document.length} characters`);
    const { name: environment, version } = job.environment;
    const { key, calls: toolCalls, backgroundMs, needs } = job.rollout;
    const amounts = demandedAmounts(needs);
    const atMs = deps.clock.nowMs();
    const told = {
      atMs,
      key,
      environment,
      version,
      item: job.item,
      ...(artifacts !== undefined && { artifacts }),
      ...(amounts !== null && { amounts }),
    };
    return (score) => deps.keep({ ...told, score, toolCalls, backgroundMs, document });
  } catch (error) {
    deps.onTrouble(error);
    return nothing;
  }
}
