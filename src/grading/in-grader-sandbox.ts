import { nextStep } from '../calls/next-step.ts';
import { type ObtainDeps, obtainSandbox } from '../claiming/obtain-sandbox.ts';
import { targetOf } from '../claiming/target.ts';
import type { Wakes } from '../claiming/waiting-room.ts';
import { asFailure, Barred, type Evidence, Failure, sandboxdUnreachable } from '../failure/failure.ts';
import type { GradeStore } from '../ports/fleet/grades.ts';
import type { LifecycleStore } from '../ports/fleet/lifecycle.ts';
import { isNews } from '../ports/fleet/wake-ups.ts';
import type { RolloutRecord } from '../ports/fleet/records.ts';
import { LinkError, type SandboxLink } from '../ports/sandbox-link.ts';
import type { Deadline } from '../waiting/deadline.ts';
import { GivenUp, noneFailed, NotYet, retrying, type Tries } from '../waiting/retries.ts';
import { retryPolicies } from '../waiting/retry-policies.ts';
import { graderSide } from './grader-side.ts';
import type { GradeJob } from './job.ts';
import { PolicyBrokeIt } from './still-there.ts';

/*
 * A sandbox of the rollout whose role is `grader`, where the policy never was. Nothing is lost with it, so its loss costs the turn some of its
 * time and nothing else.
 */

export type ElsewhereDeps = ObtainDeps & {
  readonly grades: Pick<GradeStore, 'releaseGrader'>;
  readonly lifecycle: Pick<LifecycleStore, 'lose'>;
  readonly link: Pick<SandboxLink, 'call' | 'putFile' | 'list' | 'putChanges'>;
  readonly wakes: Pick<Wakes, 'on'>;
};

/** This sandbox will not do, and another may; `message`: why. */
export class AnotherOne extends Error {}

/** `evidence`: of the failure if one would not do, and no other did. */
type Limits = { readonly until: Deadline; readonly tries: Tries; readonly evidence: Evidence };

/**
 * Works in one, and in others while `step` throws {@link AnotherOne}. The turn has one at a time: the next step finds the same one. What made
 * one useless may also be why no other is to be had: a node whose disk was filled takes no pods.
 */
export async function inGraderSandbox<Result>(
  deps: ElsewhereDeps,
  job: GradeJob,
  limits: Limits,
  step: (claim: RolloutRecord) => Promise<Result>,
): Promise<Result> {
  let gaveOneUp = false;
  const noting = (thrown: unknown): never => {
    gaveOneUp ||= thrown instanceof AnotherOne;
    throw thrown;
  };
  const attempt = () => inOne(deps, job, limits, (claim) => step(claim).catch(noting));
  return retrying(deps, retryPolicies.graderSandbox, attempt, limits).catch((thrown: unknown) => {
    throw gaveOneUp ? withEvidence(thrown, limits.evidence) : thrown;
  });
}

function withEvidence(thrown: unknown, more: Evidence): unknown {
  if (!(thrown instanceof Failure) || thrown instanceof Barred) return thrown;
  const { code, message, admitted, cause, retryAfterMs, retry } = thrown;
  const evidence = { ...thrown.evidence, ...more };
  const when = retryAfterMs === undefined ? {} : { retryAfterMs };
  const failure = new Failure(code, message, {
    evidence,
    admitted,
    cause,
    ...when,
    ...(retry === 'no' ? { retry } : {}),
  });
  return thrown instanceof GivenUp ? new GivenUp(failure) : failure;
}

async function inOne<Result>(
  deps: ElsewhereDeps,
  job: GradeJob,
  { until, evidence }: Limits,
  step: (claim: RolloutRecord) => Promise<Result>,
): Promise<Result> {
  const { request, environment } = graderSide(job);
  const { rollout: claim } = await obtainSandbox(deps, environment, request, until, noneFailed()).catch(
    (thrown: unknown) => {
      throw thrown instanceof GivenUp ? new NotYet(thrown) : thrown;
    },
  );
  try {
    return await deps.room.attend(claim.key, () => step(claim));
  } catch (thrown) {
    if (!(thrown instanceof AnotherOne)) throw thrown;
    const failure = anotherInstead(thrown.message, evidence);
    // One that was lost was swapped by its loss already, and a turn that is over has none any more.
    await deps.claims.swap(claim.key, claim.generation, failure.message, failure.evidence).catch(unlessGone);
    throw new NotYet(failure, 0);
  }
}

/** If a sandbox is lost before a grader runs in it, nothing of the policy has run in it either. */
export function beforeItRan(thrown: unknown): never {
  throw thrown instanceof PolicyBrokeIt ? new AnotherOne(thrown.message) : thrown;
}

/** Tries again while fleet state has the sandbox as it was claimed, for as long as it may be silent. */
export function whileItIsOurs<Result>(
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

function anotherInstead(why: string, evidence: Evidence): Failure {
  return sandboxdUnreachable(`the sandbox of a grader was given up for another: ${why}`, { evidence });
}

/** If it fails, the claim ends by itself, because it is not renewed. */
export async function letGo(
  { grades }: Pick<ElsewhereDeps, 'grades'>,
  { rollout, turn }: GradeJob,
): Promise<void> {
  await grades.releaseGrader(rollout.key, turn).catch(() => undefined);
}
