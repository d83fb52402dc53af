import type { Grader } from '../model/grader.ts';
import { graderLeaves, isFresh, outlivesItsSandbox } from '../model/grader-leaves.ts';
import type { Written } from '../model/written.ts';
import type { CallStore } from '../ports/fleet/calls.ts';
import type { ToldWhy } from '../ports/event-log.ts';
import type { GradeStore } from '../ports/fleet/grades.ts';
import type { JudgeBody, Judged } from '../ports/judge.ts';
import { retrying, type RetryDeps } from '../waiting/retries.ts';
import { retryPolicies } from '../waiting/retry-policies.ts';
import { timeLimit } from '../waiting/time-limit.ts';
import { type GradeJob, readSample, tooLongBytes } from './job.ts';
import type { ArtifactRoom } from './artifact-room.ts';
import { type ArtifactsDeps } from './artifacts.ts';
import type { ChangesDeps } from './changes/take-changes.ts';
import { gradeElsewhere } from './grade-elsewhere.ts';
import { type AttachDeps, attachedBytes, attachFiles, writtenFiles } from './attachments.ts';
import { awaitGuard, type GuardDeps } from './guard/await-guard.ts';
import { judgeRequest, secretsOf, type Shown } from './judge-request.ts';
import { answerAt } from './graders/compared.ts';
import { evaluate } from './graders/evaluate.ts';
import type { Evaluation, Leaf } from './graders/evaluation.ts';
import { type CommandGraderDeps, filesOfRow, runCommandGrader } from './run-command-grader.ts';
import { compareAll, keptOf, planTaking, takeAll, takenBytes, takenFor, type Taken } from './take-all.ts';
import { toldWhy } from './told-why.ts';
import { readCosts, readStory, type Story, writtenStory } from './story.ts';

export type EvaluateDeps = CommandGraderDeps &
  ArtifactsDeps &
  AttachDeps &
  ChangesDeps &
  GuardDeps & {
    readonly grades: Pick<GradeStore, 'artifactsTaken'>;
    /** Of this process. */
    readonly artifactRoom: ArtifactRoom;
    readonly calls: Pick<CallStore, 'transcript' | 'list'>;
  };

/**
 * Runs the environment's grader for one rollout: pure parts here, commands in its sandbox, judges over HTTP. Fleet state that
 * cannot be read until the turn's end leaves as it is, `state_unavailable`: no grader is shown less than there was.
 */
export async function evaluateJob(deps: EvaluateDeps, job: GradeJob): Promise<Evaluation> {
  const { brought } = job;
  if (brought !== null) {
    const detail = { kind: 'none', score: brought, reason: 'brought by the trainer' };
    return explained(deps, job, { kind: 'scored', score: brought, detail, suspected: null });
  }
  const bytes = tooLongBytes(job.sample);
  if (bytes !== null) return explained(deps, job, tooLong(job.environment.onTooLong, bytes));
  // What a row lacks is told before anything is taken or claimed for it.
  for (const leaf of graderLeaves(job.environment.grader))
    if (leaf.kind === 'command') filesOfRow(leaf, job.item);
  const inRoom = roomOf(deps, job);
  const plan = planTaking(job.environment);
  if (plan === null) return evaluateWith(deps, job, null, inRoom);
  const compared = await compareAll(deps, job, plan);
  const attachedLater = mostAttachedBytes(job.environment.grader);
  return inRoom(plan.mostHeldBytes + attachedLater, async (shrink) => {
    // Before any grader runs: one of them may run what the policy wrote among these very files.
    const taken = await takeAll(deps, job, plan, compared);
    shrink(takenBytes(taken) + attachedLater);
    if (outlivesItsSandbox(job.environment.grader))
      await inTime(deps, job, () => deps.grades.artifactsTaken(job.rollout.key, job.turn));
    const evaluation = await evaluateWith(deps, job, taken, alreadyHeld);
    if (job.environment.keep === undefined || evaluation.kind !== 'scored') return evaluation;
    return { ...evaluation, artifacts: keptOf(plan, taken) };
  });
}

/** Holds memory for so many bytes while it works; `shrink` returns what is not needed. */
type InRoom = <Result>(
  mostBytes: number,
  work: (shrink: (bytes: number) => void) => Promise<Result>,
) => Promise<Result>;

const roomOf =
  ({ artifactRoom }: EvaluateDeps, { deadline }: GradeJob): InRoom =>
  (mostBytes, work) =>
    artifactRoom.hold(mostBytes, AbortSignal.timeout(Math.max(1, deadline.remainingMs)), work);

/** For files of judges beside artifacts: their memory was taken together, so that no grading waits for room while it holds some. */
const alreadyHeld: InRoom = (_mostBytes, work) => work(() => undefined);

/** Judges are asked one after another, so the largest request decides. */
const mostAttachedBytes = (grader: Grader): number =>
  Math.max(
    0,
    ...graderLeaves(grader).map((leaf) => (leaf.kind === 'http' ? (leaf.attach?.mostBytes ?? 0) : 0)),
  );

const inTime = <Done>(deps: RetryDeps, { deadline }: GradeJob, step: () => Promise<Done>) =>
  retrying(deps, retryPolicies.gradingStep, step, { until: deadline });

async function evaluateWith(
  deps: EvaluateDeps,
  job: GradeJob,
  taken: Taken | null,
  inRoom: InRoom,
): Promise<Evaluation> {
  const story = once(() => inTime(deps, job, () => readStory(deps.calls, job.rollout.key)));
  let stderr = '';
  const judges: string[] = [];
  const { grader } = job.environment;
  const leaves = graderLeaves(grader);
  const evaluation = await evaluate(grader, {
    get sample() {
      return readSample(job.sample);
    },
    item: job.item,
    toolCalls: job.rollout.calls,
    story,
    costs: () => inTime(deps, job, () => readCosts(deps.calls, job.rollout)),
    runCommand: async (leaf) => {
      // `on_broken` scores a broken rollout, whatever its calls said.
      const isRead = leaf.readsRollout && job.rollout.broken === null;
      const whole = isRead ? wholeRollout(job, await story()) : null;
      const ended =
        isFresh(leaf) && taken !== null
          ? await gradeElsewhere(deps, job, leaf, whole, takenFor(leaf, taken))
          : await runCommandGrader(deps, job, leaf, whole);
      stderr = ended.stderr;
      return ended.grade;
    },
    askJudge: async (leaf) => {
      const ask = async (files: JudgeBody) =>
        askJudge(deps, job, leaf, { calls: leaf.calls ? writtenStory(await story()) : {}, files });
      const { attach } = leaf;
      const judged = await (attach === undefined
        ? ask([])
        : inRoom(attach.mostBytes, async (shrink) => {
            const attached = await attachFiles(deps, job, attach);
            shrink(attachedBytes(attached));
            if (attached.kind === 'bad') return { kind: 'unattached' as const, reason: attached.reason };
            return ask(writtenFiles(attached));
          }));
      if (judged.kind === 'scored') judges.push(judged.said ?? '');
      if (judged.kind !== 'unattached') await awaitGuard(deps, { ...job, place: leaves.indexOf(leaf) }, leaf);
      return judged;
    },
  });
  return explained(deps, job, evaluation, { stderr, judges });
}

type Said = { readonly stderr: string; readonly judges: readonly string[] };
const nothingSaid: Said = { stderr: '', judges: [] };

function explained(
  deps: Pick<EvaluateDeps, 'secret'>,
  job: Explainable,
  evaluation: Evaluation,
  said = nothingSaid,
): Evaluation {
  const { grader } = job.environment;
  const detail =
    evaluation.kind === 'scored' ? evaluation.detail : { kind: grader.kind, reason: evaluation.reason };
  const asked = { grader, item: job.item, sample: readSample(job.sample), ...said };
  return { ...evaluation, why: toldWhy(asked, { detail }, secretsOf(deps, grader)) };
}

type Explainable = Pick<GradeJob, 'environment' | 'item' | 'sample'>;

/** Of a rollout that gets no score: what its grader would have looked at, and the reason. */
export function whyNoScore(
  deps: Pick<EvaluateDeps, 'secret'>,
  { environment: { grader }, item, sample }: Explainable,
  reason: string,
): ToldWhy {
  const asked = { grader, item, sample: readSample(sample), stderr: '' };
  return toldWhy(asked, { detail: { kind: grader.kind, reason } }, secretsOf(deps, grader));
}

/** Several parts of one grader look at the same. */
function once<Read>(read: () => Promise<Read>): () => Promise<Read> {
  let reading: Promise<Read> | null = null;
  return () => (reading ??= read());
}

/** The sample goes on as it came, however deep it is and whatever numbers it holds. */
export function wholeRollout(
  { sample, rollout }: Pick<GradeJob, 'sample' | 'rollout'>,
  story: Story,
): string {
  const said = answerAt(readSample(sample), 'output_text');
  const others = { rollout: rollout.owner.rollout, output_text: typeof said === 'string' ? said : null };
  return `{"sample":${textOf(sample)},${JSON.stringify({ ...others, ...writtenStory(story) }).slice(1)}`;
}

/** The model's own doing, so no grader is asked and nothing is discarded for it. */
function tooLong(score: number, bytes: number): Evaluation {
  const reason = `a sample of ${bytes} bytes is too long to be graded: on_too_long`;
  return { kind: 'scored', score, detail: { kind: 'too_long', score, bytes, reason }, suspected: null };
}

function askJudge(deps: EvaluateDeps, job: GradeJob, leaf: Leaf<'http'>, shown: Shown): Promise<Judged> {
  const { item, rollout } = job;
  const asked = { sample: textOf(job.sample), item, traceId: rollout.owner.rollout, ...shown };
  const request = judgeRequest(leaf, asked, deps.secret);
  return deps.judge.score(request, ...timeLimit(job.deadline.remainingMs));
}

const textOf = (sample: Written): string => (typeof sample === 'string' ? sample : '{}');
