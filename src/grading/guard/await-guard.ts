import { type Evidence, Failure } from '#src/failure/failure.ts';
import type { Canary, JudgeGuard } from '#src/model/grader.ts';
import { longestJudgeMs } from '#src/model/grading-time.ts';
import type { CheckEnd, Guarded, GuardStore } from '#src/ports/fleet/guards.ts';
import type { Judge } from '#src/ports/judge.ts';
import { NotYet, retrying, type RetryDeps } from '#src/waiting/retries.ts';
import { retryPolicies } from '#src/waiting/retry-policies.ts';
import { timeLimit } from '#src/waiting/time-limit.ts';
import type { Leaf } from '../graders/evaluation.ts';
import type { GradeJob } from '../job.ts';
import { judgeRequest, nothingShown, sampleOfText, type SecretDeps } from '../judge-request.ts';
import { type CanaryWord, noEvidence, readCanary, wordOfAll } from './canaries.ts';

export type GuardDeps = RetryDeps & SecretDeps & { readonly guards: GuardStore; readonly judge: Judge };

export type GuardedLeaf = Leaf<'http'> & { readonly guard: JudgeGuard };

/** `place`: which judge of its grader. */
export type GuardJob = Pick<GradeJob, 'environment' | 'rollout' | 'deadline'> & { readonly place: number };

/** How often it is asked whether a check elsewhere is over. */
const lookAgainMs = 200;
/** What a gateway takes to say how a check ended, in addition to the judge. */
const toConcludeMs = 10_000;

/**
 * Holds what a judge said of a rollout until its canaries were scored rightly:
 *
 *   the judge answered ──▶ a ticket ──▶ checked ──▶ the score counts
 *                                         │
 *                                         ├─ no one checks ──▶ ask the canaries, say what came of it, look again
 *                                         ├─ checked elsewhere, or no evidence ──▶ look again
 *                                         └─ a canary was wrong ──▶ judge_suspect
 *
 * No canary holds a byte of a policy, and its time decides nothing: a policy that flatters the judge or slows it down is never why
 * a rollout is discarded as `judge_suspect`.
 */
export async function awaitGuard(deps: GuardDeps, job: GuardJob, leaf: Leaf<'http'>): Promise<void> {
  const { guard } = leaf;
  if (guard === undefined) return;
  const guarded = guardedBy(job, guard);
  const by = deps.random.text(20);
  const leaseMs = longestJudgeMs(leaf) + toConcludeMs;
  let ticket: number | null = null;
  let missing = 'no check of its canaries ended';
  const look = async () => {
    const word = await deps.guards.ask(guarded, { ticket, by, leaseMs });
    ticket = word.ticket;
    if (word.kind === 'pass') return;
    if (word.kind === 'suspect') throw suspectJudge(leaf, word.evidence);
    if (word.kind === 'check') {
      const said = await checkCanaries(deps, { ...leaf, guard }, job.deadline.remainingMs);
      await deps.guards.conclude(guarded, word.ticket, checkEndOf(leaf, said));
      if (said.kind === 'no_evidence') missing = said.reason;
      else throw new NotYet(unchecked(leaf, missing), 0);
    }
    throw new NotYet(unchecked(leaf, missing), lookAgainMs);
  };
  await retrying(deps, retryPolicies.gradingStep, look, { until: job.deadline });
}

const guardedBy = ({ environment, rollout, place }: GuardJob, { everyGrades }: JudgeGuard): Guarded => ({
  rollout: rollout.key,
  name: `${environment.version}/${place}`,
  everyGrades,
});

export type CanaryDeps = SecretDeps & Pick<GuardDeps, 'judge'>;

/** Asks the judge for all of its canaries. */
export async function checkCanaries(
  deps: CanaryDeps,
  leaf: GuardedLeaf,
  mostMs: number,
): Promise<CanaryWord> {
  return wordOfAll(
    await Promise.all(leaf.guard.canaries.map((canary) => askCanary(deps, leaf, canary, mostMs))),
  );
}

async function askCanary(
  { judge, secret }: CanaryDeps,
  leaf: GuardedLeaf,
  canary: Canary,
  mostMs: number,
): Promise<CanaryWord> {
  const sample = JSON.stringify(sampleOfText(canary.answer));
  const { item } = leaf.guard;
  const asked = { sample, item, traceId: `canary-${canary.name}`, ...nothingShown(leaf) };
  try {
    const judged = await judge.score(judgeRequest(leaf, asked, secret), ...timeLimit(mostMs));
    return readCanary(canary, judged, leaf.onRefused);
  } catch (thrown) {
    return noEvidence(thrown);
  }
}

export function checkEndOf(leaf: Leaf<'http'>, said: CanaryWord): CheckEnd {
  if (said.kind !== 'wrong') return { kind: said.kind };
  const { canary, score, expected } = said;
  return { kind: 'wrong', evidence: { judge: hostOf(leaf), canary, given: score, expected } };
}

const hostOf = ({ url }: Leaf<'http'>): string => (URL.canParse(url) ? new URL(url).host : 'unknown');

export const suspectJudge = (leaf: Leaf<'http'>, evidence: Evidence): Failure =>
  new Failure(
    'judge_suspect',
    `the judge at ${hostOf(leaf)} scored a canary wrongly, so its score of this rollout does not count`,
    { evidence },
  );

/** Marked: what a policy answers may be what makes a judge slow, and so what keeps its canaries from being scored. */
export function unchecked(leaf: Leaf<'http'>, reason: string): Failure {
  const judge = hostOf(leaf);
  return new Failure('grader_failed', `the judge at ${judge} could not be checked: ${reason}`, {
    evidence: { judge, reason, suspected: 'answer' },
  });
}
