import { undisturbed } from '../claiming/undisturbed.ts';
import { targetOf } from '../claiming/target.ts';
import { Failure } from '../failure/failure.ts';
import { restsOnSandbox } from '../failure/witness.ts';
import { aroundGraderMs } from '../model/grader.ts';
import type { FreshLeaf } from '../model/grader-leaves.ts';
import type { RolloutRecord } from '../ports/fleet/records.ts';
import { LinkError } from '../ports/sandbox-link.ts';
import type { FileReply } from '../protocol/sandboxd/wire.ts';
import { Deadline } from '../waiting/deadline.ts';
import { noneFailed } from '../waiting/retries.ts';
import { type TimeLimit, timeLimit } from '../waiting/time-limit.ts';
import { type Artifacts, putArtifacts } from './artifacts.ts';
import { bodyOf, changedBytes } from './changes/changes.ts';
import type { CommandEnd } from './graders/evaluation.ts';
import {
  AnotherOne,
  beforeItRan,
  type ElsewhereDeps,
  inGraderSandbox,
  letGo,
  whileItIsOurs,
} from './in-grader-sandbox.ts';
import type { GradeJob } from './job.ts';
import {
  badEnd,
  brokenByPolicy,
  brokenProtocol,
  gradingCall,
  unlessBrokenTwice,
  unlessPolicys,
  untilGraded,
} from './run-command-grader.ts';
import { maxPauseMs } from './paused-clock.ts';
import { maybePolicy, PolicyBrokeIt } from './still-there.ts';

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
  const graded = { job, leaf, rollout, artifacts };
  const tries = noneFailed();
  const until = job.deadline.earlier(leaf.timeoutMs + maxPauseMs(job.environment, leaf) + aroundGraderMs);
  try {
    // The policy's artifacts may have caused this. If the last turn fails for it, its discard keeps the mark.
    const limits = { until, tries, evidence: maybePolicy };
    const end = await inGraderSandbox(deps, job, limits, (claim) =>
      gradeIn(deps, graded, claim).catch(throwMarked),
    );
    return toldWhere(
      end,
      tries.failed === 0 ? '' : `, after ${tries.failed} that were lost or not to be had`,
    );
  } catch (thrown) {
    if (thrown instanceof PolicyBrokeIt) return brokenByPolicy(thrown.message);
    throw thrown;
  } finally {
    await letGo(deps, job);
  }
}

type Graded = {
  readonly job: GradeJob;
  readonly leaf: FreshLeaf;
  readonly rollout: string | null;
  readonly artifacts: Extract<Artifacts, { readonly kind: 'taken' }>;
};

/** What the policy left runs under its grader, where it may have sandboxd's id: what only that sandbox says is marked. */
function throwMarked(thrown: unknown): never {
  const failure = thrown instanceof LinkError ? brokenProtocol(thrown.message) : thrown;
  if (!(failure instanceof Failure) || !restsOnSandbox(failure.code, failure.evidence)) throw failure;
  const { code, message, admitted, evidence } = unlessPolicys(failure);
  throw new Failure(code, message, { admitted, evidence: { ...evidence, ...maybePolicy } });
}

async function gradeIn(
  deps: ElsewhereDeps,
  { job, leaf, rollout, artifacts }: Graded,
  claim: RolloutRecord,
): Promise<CommandEnd> {
  const target = targetOf(claim);
  const place = (gone: AbortSignal) => {
    const until = Deadline.in(deps.clock, placingMs);
    const limit = () => timeLimit(until.remainingMs, gone);
    return placedOrRefused(placeIn(deps.link, target, leaf, artifacts, limit));
  };
  const placed = await whileItIsOurs(deps, claim, place).catch(beforeItRan);
  if ('refused' in placed) return badEnd('artifacts', placed.refused);
  const grade = async () => {
    const { call, request } = gradingCall(deps.random, job, leaf, rollout);
    return untilGraded(request, (waitMs: number, inTime: () => AbortSignal) =>
      whileItIsOurs(deps, claim, async (gone) =>
        undisturbed(await deps.link.call(target, call, request, waitMs, AbortSignal.any([gone, inTime()]))),
      ),
    );
  };
  return toldWhere(
    await unlessBrokenTwice(deps, job, leaf, grade),
    `in sandbox ${target.sandbox} of its own${withChanges(artifacts, leaf, placed)}`,
  );
}

/** How near the bounds it is, and what no sandbox gets. */
function withChanges(
  { changes }: Graded['artifacts'],
  { fresh }: FreshLeaf,
  { leading = [] }: Pick<FileReply, 'leading'>,
): string {
  if (changes === undefined || fresh.changes === undefined) return '';
  const { removed, written, leftOut } = changes;
  const count = `${removed.length + written.length} changes of at most ${fresh.changes.mostFiles}`;
  const behind = leftOut.length === 0 ? '' : `; left behind: ${leftOut.join(', ').slice(0, 500)}`;
  const into = leading.length === 0 ? '' : `; programs that lead there: ${leading.join(', ').slice(0, 500)}`;
  return `, with ${count}, and ${changedBytes(changes)} bytes of at most ${fresh.mostBytes}${behind}${into}`;
}

async function placeIn(
  link: ElsewhereDeps['link'],
  target: ReturnType<typeof targetOf>,
  { fresh }: FreshLeaf,
  { files, changes }: Graded['artifacts'],
  limit: () => TimeLimit,
): Promise<Pick<FileReply, 'leading'>> {
  if (changes !== undefined && fresh.changes !== undefined)
    return link.putChanges(target, fresh.changes, bodyOf(changes), ...limit());
  await putArtifacts(link, target, files, limit);
  return {};
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

/** `refused`: why they cannot be there, by what they are. */
async function placedOrRefused<Placed>(put: Promise<Placed>): Promise<Placed | { readonly refused: string }> {
  try {
    return await put;
  } catch (thrown) {
    if (!(thrown instanceof LinkError) || thrown.trouble.kind !== 'refused') throw thrown;
    const { code, errno = '', message } = thrown.trouble;
    if (code === 'file_error' && namesDoing.has(errno)) return { refused: message };
    // `graded`: a grader has begun in it, and only its gateway knows the call.
    if (code === 'file_error' || code === 'internal' || code === 'graded') throw new AnotherOne(message);
    throw thrown;
  }
}
