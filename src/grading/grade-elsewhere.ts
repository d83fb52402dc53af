import { nextStep } from '../calls/next-step.ts';
import { undisturbed } from '../claiming/undisturbed.ts';
import { type ObtainDeps, obtainSandbox } from '../claiming/obtain-sandbox.ts';
import { targetOf } from '../claiming/target.ts';
import type { Wakes } from '../claiming/waiting-room.ts';
import { asFailure, type Failure, sandboxdUnreachable } from '../failure/failure.ts';
import { aroundGraderMs } from '../model/grader.ts';
import type { FreshLeaf } from '../model/grader-leaves.ts';
import type { GradeStore } from '../ports/fleet/grades.ts';
import type { LifecycleStore } from '../ports/fleet/lifecycle.ts';
import { isNews } from '../ports/fleet/wake-ups.ts';
import type { RolloutRecord } from '../ports/fleet/records.ts';
import { LinkError, type SandboxLink } from '../ports/sandbox-link.ts';
import type { Deadline } from '../waiting/deadline.ts';
import { GivenUp, noneFailed, NotYet, retrying } from '../waiting/retries.ts';
import { retryPolicies } from '../waiting/retry-policies.ts';
import { type Artifacts, putArtifacts } from './artifacts.ts';
import type { CommandEnd } from './graders/evaluation.ts';
import { graderSide } from './grader-side.ts';
import type { GradeJob } from './job.ts';
import {
  badEnd,
  brokenByPolicy,
  brokenProtocol,
  endOf,
  gradingCall,
  untilGraded,
} from './run-command-grader.ts';
import { maxPauseMs } from './paused-clock.ts';
import { maybePolicy, PolicyBrokeIt } from './still-there.ts';

export type ElsewhereDeps = ObtainDeps & {
  readonly grades: Pick<GradeStore, 'releaseGrader'>;
  readonly lifecycle: Pick<LifecycleStore, 'lose'>;
  readonly link: Pick<SandboxLink, 'call' | 'putFile'>;
  readonly wakes: Pick<Wakes, 'on'>;
};

/**
 * Grades where the policy never was, in a sandbox of the rollout's whose role is `grader`:
 *
 *   claim ──▶ bind ──▶ put the artifacts there ──▶ run the grader ──▶ let it go
 *     ▲                                                   │
 *     └───────── another, as fresh as this one ◀── lost, or silent
 *
 * Nothing is lost with it, so its loss is nobody's score and nobody's discard; it costs the turn some of its time. Only a
 * sandbox that what the policy left behind has demonstrably broken is not replaced: it would break the next, and its rollout
 * would be discarded where it should have scored low.
 *
 * Throws `grader_failed` where the turn is over or its sandboxd cannot, and why no sandbox was to be had in time.
 */
export async function gradeElsewhere(
  deps: ElsewhereDeps,
  job: GradeJob,
  leaf: FreshLeaf,
  rollout: string | null,
  artifacts: Artifacts,
): Promise<CommandEnd> {
  if (artifacts.kind === 'bad') return badEnd(artifacts.how, artifacts.reason);
  const graded = { job, leaf, rollout, files: artifacts.files };
  const tries = noneFailed();
  const until = job.deadline.earlier(leaf.timeoutMs + maxPauseMs(job.environment, leaf) + aroundGraderMs);
  try {
    const attempt = () => gradeInOne(deps, graded, until);
    const end = await retrying(deps, retryPolicies.graderSandbox, attempt, { until, tries });
    return toldWhere(
      end,
      tries.failed === 0 ? '' : `, after ${tries.failed} that were lost or not to be had`,
    );
  } catch (thrown) {
    if (thrown instanceof PolicyBrokeIt) return brokenByPolicy(thrown.message);
    if (thrown instanceof LinkError) throw brokenProtocol(thrown.message);
    throw thrown;
  } finally {
    await letGo(deps, job);
  }
}

type Graded = {
  readonly job: GradeJob;
  readonly leaf: FreshLeaf;
  readonly rollout: string | null;
  readonly files: Extract<Artifacts, { readonly kind: 'taken' }>['files'];
};

/** This sandbox will not do, and another may; `message`: why. */
class AnotherOne extends Error {}

async function gradeInOne(deps: ElsewhereDeps, graded: Graded, until: Deadline): Promise<CommandEnd> {
  const { job } = graded;
  const { request, environment } = graderSide(job);
  const { rollout: claim } = await obtainSandbox(deps, environment, request, until, noneFailed()).catch(
    (thrown: unknown) => {
      throw thrown instanceof GivenUp ? new NotYet(thrown) : thrown;
    },
  );
  try {
    return await deps.room.attend(claim.key, () => gradeIn(deps, graded, claim));
  } catch (thrown) {
    if (!(thrown instanceof AnotherOne)) throw thrown;
    const failure = anotherInstead(thrown.message);
    // One that was lost was swapped by its loss already, and a turn that is over has none any more.
    await deps.claims.swap(claim.key, claim.generation, failure.message, failure.evidence).catch(unlessGone);
    throw new NotYet(failure, 0);
  }
}

async function gradeIn(
  deps: ElsewhereDeps,
  { job, leaf, rollout, files }: Graded,
  claim: RolloutRecord,
): Promise<CommandEnd> {
  const target = targetOf(claim);
  const place = (gone: AbortSignal) => {
    const signal = AbortSignal.any([gone, AbortSignal.timeout(placingMs)]);
    return refusedArtifacts(putArtifacts(deps.link, target, files, signal));
  };
  const refused = await whileItIsOurs(deps, claim, place).catch(beforeItRan);
  if (refused !== null) return badEnd('artifacts', refused);
  const { call, request } = gradingCall(deps.random, job, leaf, rollout);
  const ask = (waitMs: number, patience: () => AbortSignal) =>
    whileItIsOurs(deps, claim, async (gone) =>
      undisturbed(await deps.link.call(target, call, request, waitMs, AbortSignal.any([gone, patience()]))),
    );
  return toldWhere(endOf(leaf, await untilGraded(request, ask)), `in sandbox ${target.sandbox} of its own`);
}

/** For whoever asks why a score is what it is. */
function toldWhere({ grade, stderr }: CommandEnd, more: string): CommandEnd {
  if (grade.kind === 'bad') return { grade, stderr };
  return { grade: { ...grade, where: `${grade.where ?? ''}${more}` }, stderr };
}

/** As long as they may take to be taken. */
const placingMs = 5 * 60_000;

/** What the names of files alone can bring about, where the grader's image has others in their place. */
const namesDoing: ReadonlySet<string> = new Set([
  'EISDIR',
  'ENOTDIR',
  'EEXIST',
  'ENAMETOOLONG',
  'EINVAL',
  'EACCES',
  'EPERM',
  'ELOOP',
]);

/** Null: they are there. Else why they cannot be, by what they are. */
async function refusedArtifacts(put: Promise<unknown>): Promise<string | null> {
  try {
    await put;
    return null;
  } catch (thrown) {
    if (!(thrown instanceof LinkError) || thrown.trouble.kind !== 'refused') throw thrown;
    const { code, errno = '', message } = thrown.trouble;
    if (code === 'file_error' && namesDoing.has(errno)) return message;
    // `graded`: a grader has begun in it, and only its gateway knows the call.
    if (code === 'file_error' || code === 'internal' || code === 'graded') throw new AnotherOne(message);
    throw thrown;
  }
}

/** Whatever a sandbox goes down of before a grader runs there, nothing of the policy's has run there either. */
function beforeItRan(thrown: unknown): never {
  throw thrown instanceof PolicyBrokeIt ? new AnotherOne(thrown.message) : thrown;
}

/** Tries again while fleet state has the sandbox as it was claimed, for as long as it may be silent. */
function whileItIsOurs<Result>(
  deps: ElsewhereDeps,
  claim: RolloutRecord,
  step: (gone: AbortSignal) => Promise<Result>,
): Promise<Result> {
  return retrying(deps, retryPolicies.graderSilence, async () => {
    const woken = new AbortController();
    const stopListening = deps.wakes.on(claim.key, (wakeUp) => {
      if (isNews(wakeUp, claim)) woken.abort();
    });
    try {
      return await step(woken.signal);
    } catch (thrown) {
      if (!(thrown instanceof LinkError)) throw thrown;
      await checkOurs(deps, claim, thrown);
      throw new NotYet(new AnotherOne(thrown.message));
    } finally {
      stopListening();
    }
  });
}

/** Throws `AnotherOne` where it is lost, `PolicyBrokeIt`, and the error itself where sandboxd refused. */
async function checkOurs(deps: ElsewhereDeps, claim: RolloutRecord, error: LinkError): Promise<void> {
  const step = nextStep(error.trouble);
  if (step.kind !== 'again' && step.kind !== 'lose') throw error;
  const { sandbox, boot } = targetOf(claim);
  if (step.kind === 'lose') {
    const evidence = { seen_by: 'grading', detail: error.message, ...step.evidence };
    await deps.lifecycle.lose(sandbox, boot, step.cause, evidence);
  }
  const now = await deps.claims.find(claim.owner, claim.owner.attempt);
  if (now !== null && now.broken !== null) throw new PolicyBrokeIt(now.broken);
  const isOurs = now?.generation === claim.generation && now.epoch?.sandbox === sandbox;
  if (!isOurs) throw new AnotherOne(`it was lost: ${error.message}`);
}

function unlessGone(thrown: unknown): void {
  if (asFailure(thrown).code !== 'rollout_unknown') throw thrown;
}

/** The policy's artifacts may have caused this. If the last turn fails for it, its discard keeps the mark. */
function anotherInstead(why: string): Failure {
  return sandboxdUnreachable(`the sandbox of a grader was given up for another: ${why}`, {
    evidence: maybePolicy,
  });
}

/** Nothing hangs on it: one that is not let go of is, as nobody renews it. */
async function letGo({ grades }: ElsewhereDeps, { rollout, turn }: GradeJob): Promise<void> {
  await grades.releaseGrader(rollout.key, turn).catch(() => undefined);
}
