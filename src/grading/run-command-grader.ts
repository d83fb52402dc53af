import { undisturbed } from '../claiming/undisturbed.ts';
import { targetOf } from '../claiming/target.ts';
import { Barred, Failure } from '../failure/failure.ts';
import { saidBySandbox } from '../failure/witness.ts';
import { aroundGraderMs, type Item } from '../model/grader.ts';
import { type CallId, callId } from '../model/ids.ts';
import type { Random } from '../ports/random.ts';
import { LinkError, type SandboxLink } from '../ports/sandbox-link.ts';
import {
  type CallAnswer,
  type CallRequest,
  type GradeTurn,
  longestScoreBytes,
} from '../protocol/sandboxd/wire.ts';
import type { CommandEnd, CommandGrade, Leaf } from './graders/evaluation.ts';
import type { GradeJob } from './job.ts';
import { maxPauseMs } from './paused-clock.ts';
import { longestGradeMs } from '../model/grading-time.ts';
import { NotYet, type RetryDeps, retrying } from '../waiting/retries.ts';
import { retryPolicies } from '../waiting/retry-policies.ts';
import { PolicyBrokeIt, type TroubleDeps, whileItStands } from './still-there.ts';

export type CommandGraderDeps = TroubleDeps & {
  readonly link: Pick<SandboxLink, 'call'>;
  readonly random: Random;
};

/** One held request; a sandbox whose node is gone never closes its connections, so it is asked again after that. */
const longestPollMs = 30_000;
/** Beyond the poll: what a healthy sandboxd may take to answer at all on a busy machine. */
const answerGraceMs = 10_000;
/** By so much sandboxd ends a turn before it is given up here: what took too long is then known by name. */
const endMs = 5_000;
/** Of a grader's own output, for the person who asks why it ended badly. */
const keepBytes = 16_384;

/**
 * Grades inside the rollout's own sandbox, so that the grader sees what the policy left there. sandboxd carries the turn
 * out by itself, as one call of its journal, so a connection that breaks attaches to it when it asks again. It runs as a
 * third user, in a folder that the policy can neither enter nor name, the item is on its stdin, and `rollout`, if it asks for
 * the whole one, is in a file there.
 *
 * What the policy may have caused is told as `bad`; what it cannot have caused throws: `grader_failed`, and what
 * {@link whileItStands} throws.
 */
export async function runCommandGrader(
  deps: CommandGraderDeps,
  job: GradeJob,
  leaf: Leaf<'command'>,
  rollout: string | null,
): Promise<CommandEnd> {
  if (job.rollout.broken !== null) return brokenByPolicy(job.rollout.broken);
  try {
    return await unlessBrokenTwice(deps, job, leaf, () => run(deps, job, leaf, rollout));
  } catch (thrown) {
    if (thrown instanceof PolicyBrokeIt) return brokenByPolicy(thrown.message);
    if (thrown instanceof LinkError) throw brokenProtocol(thrown.message);
    throw thrown;
  }
}

/**
 * Believes that the policy left a grader no room only if a second try finds none either; before it, everything of the policy is ended again.
 * A second try that fails otherwise says nothing, so the first end counts. A grader that has run is not run again: it may leave other
 * files than it found, and what it runs of the policy's would know it by then. If too little of the turn is left, there is no second try:
 * a turn that runs out of time would discard what should score low.
 */
export async function unlessBrokenTwice(
  deps: RetryDeps,
  job: Pick<GradeJob, 'environment' | 'deadline'>,
  leaf: Leaf<'command'>,
  grade: () => Promise<CallAnswer | 'running'>,
): Promise<CommandEnd> {
  let broken: NoRoom | null = null;
  const attempt = async () => {
    try {
      const answer = await grade();
      const end = endOf(leaf, answer);
      if (!isBroken(end) || hasRun(answer)) return end;
      throw new NoRoom(end);
    } catch (thrown) {
      if (!(thrown instanceof NoRoom)) throw broken === null || isVeto(thrown) ? thrown : broken;
      const isLast = broken !== null || !hasTimeForAnother(job, leaf);
      broken ??= thrown;
      throw isLast ? broken : new NotYet(broken);
    }
  };
  try {
    return await retrying(deps, retryPolicies.graderWithoutRoom, attempt, { until: job.deadline });
  } catch (thrown) {
    if (thrown instanceof NoRoom) return thrown.end;
    throw thrown;
  }
}

class NoRoom extends Error {
  readonly end: CommandEnd;

  constructor(end: CommandEnd) {
    super('its sandbox had no room for the grader');
    this.end = end;
  }
}

const isBroken = ({ grade }: CommandEnd): boolean => grade.kind === 'bad' && grade.how === 'broken';

const hasRun = (answer: CallAnswer | 'running'): boolean =>
  answer !== 'running' && answer.ending.kind !== 'not_started';

/** With the pause before it, and what the machine may take away from it. */
function hasTimeForAnother(
  { environment, deadline }: Pick<GradeJob, 'environment' | 'deadline'>,
  leaf: Leaf<'command'>,
): boolean {
  const { firstMs } = retryPolicies.graderWithoutRoom.pauses;
  return deadline.remainingMs >= firstMs + longestGradeMs(environment) + maxPauseMs(environment, leaf);
}

/** The rollout was lost or ended meanwhile, or its policy broke the whole sandbox. */
const isVeto = (thrown: unknown): boolean =>
  thrown instanceof PolicyBrokeIt || thrown instanceof Barred || (thrown instanceof Failure && thrown.taints);

async function run(
  deps: CommandGraderDeps,
  job: GradeJob,
  leaf: Leaf<'command'>,
  rollout: string | null,
): Promise<CallAnswer | 'running'> {
  const { call, request } = gradingCall(deps.random, job, leaf, rollout);
  const target = targetOf(job.rollout);
  return untilGraded(request, (waitMs, patience) =>
    whileItStands(deps, job, () =>
      deps.link.call(target, call, request, waitMs, patience()).then(undisturbed),
    ),
  );
}

type GradingCall = { readonly call: CallId; readonly request: CallRequest };

/** A run of its own, several of one turn too; the space keeps the id apart from every caller's. Throws `item_missing`. */
export function gradingCall(
  random: Random,
  { turn, item, environment }: Pick<GradeJob, 'turn' | 'item' | 'environment'>,
  leaf: Leaf<'command'>,
  rollout: string | null,
): GradingCall {
  const call = callId(`corral grade ${turn} ${random.text(20)}`);
  const { argv, timeoutMs } = leaf;
  const files = { ...leaf.files, ...filesOfRow(leaf, item) };
  const told = rollout !== null && { rollout };
  const action = { kind: 'grade', turn, argv, files, stdin: JSON.stringify(item), ...told } as const;
  const time = { timeoutMs, maxPauseMs: maxPauseMs(environment, leaf), aroundMs: aroundGraderMs - endMs };
  return { call, request: { digest: call, action, ...time, keepBytes } };
}

/** What a row says is looked up among the folders that the environment was read with: it is never a path. Throws `item_missing`. */
export function filesOfRow({ rowFiles }: Leaf<'command'>, item: Item | null): CallRequestFiles {
  if (rowFiles === undefined) return {};
  const { field, folders } = rowFiles;
  const named = item?.[field];
  const name = typeof named === 'string' || typeof named === 'number' ? String(named) : null;
  const files = name !== null && Object.hasOwn(folders, name) ? folders[name] : undefined;
  if (files !== undefined) return files;
  const what = name === null ? 'no text' : JSON.stringify(name.slice(0, 200));
  throw new Failure(
    'item_missing',
    `item.${field} is ${what}, and the environment has no folder of files for such a row; fix the row, or add the folder`,
    { evidence: { field } },
  );
}

type CallRequestFiles = Extract<CallRequest['action'], { kind: 'grade' }>['files'];

/** Polls until there is an answer. Only time in which sandboxd said that it runs counts: it may have begun late. */
export async function untilGraded(
  { timeoutMs, maxPauseMs: pauseMs = 0 }: Pick<CallRequest, 'timeoutMs' | 'maxPauseMs'>,
  ask: (waitMs: number, patience: () => AbortSignal) => Promise<CallAnswer | 'running'>,
): Promise<CallAnswer | 'running'> {
  for (let leftMs = timeoutMs + pauseMs + aroundGraderMs; ; leftMs -= longestPollMs) {
    const waitMs = Math.min(leftMs, longestPollMs);
    const answer = await ask(waitMs, () => AbortSignal.timeout(waitMs + answerGraceMs));
    if (answer !== 'running' || waitMs === leftMs) return answer;
  }
}

/** What came of it, with what it said on stderr. */
export function endOf(leaf: Leaf<'command'>, answer: CallAnswer | 'running'): CommandEnd {
  const stderr = answer === 'running' ? '' : answer.stderr.head + answer.stderr.tail;
  return { grade: gradeOf(leaf, answer), stderr };
}

function gradeOf(leaf: Leaf<'command'>, answer: CallAnswer | 'running'): CommandGrade {
  if (answer === 'running') throw suspiciousFailure('it did not end at its timeout', 'ETIMEDOUT');
  const { grade, ending } = answer;
  if (ending.kind === 'cancelled')
    throw graderFailed('a later turn of the same rollout took over', 'ECANCELED');
  if (grade === undefined) throw brokenProtocol('its sandboxd says nothing of the score');
  // Also killed processes that wait for a disk stay, so it says nothing of the policy.
  if (grade.kind === 'survivors')
    throw suspiciousFailure(`${grade.count} processes could not be killed`, 'EBUSY');
  if (grade.kind === 'folder_failed') return withoutFolder(grade);
  // Its grader's result does not count: a sandboxd of an earlier version puts no such file there.
  if (leaf.readsRollout && grade.toldRollout !== true)
    throw graderFailed('its sandboxd is of a version that cannot show a grader the rollout', 'ENOSYS');
  refuseDisturbed(answer);
  return badEnding(leaf, answer) ?? scored(grade.score);
}

/** The score of a grader that did not get its packages says nothing about the policy. Marked, because the grader may run the policy's files. */
function refuseDisturbed({ evidence: { mirrors } }: CallAnswer): void {
  if (mirrors === undefined || mirrors.failed + mirrors.refused + mirrors.confirmed + mirrors.lost === 0)
    return;
  const { asked, failed, refused, lost } = mirrors;
  throw suspiciousFailure(
    `of ${asked} requests of the grader to package mirrors, ${failed} failed, ${refused} were above the bounds of its sandbox, and ${lost} connections were lost`,
    'EMIRROR',
  );
}

/** Null: it ended well, and its score file counts. */
function badEnding(leaf: Leaf<'command'>, { ending, evidence, stderr }: CallAnswer): CommandGrade | null {
  if (ending.kind === 'exited' && ending.exitCode === 0) return null;
  if (ending.kind === 'timed_out') return bad('timeout', `no end after ${leaf.timeoutMs} ms`);
  if (ending.kind === 'not_started') {
    if (ownShortages.has(ending.errno)) return bad('broken', ending.message);
    throw suspiciousFailure(`the grader could not be started: ${ending.message}`, ending.errno);
  }
  if (wasKilled(ending) && (evidence.outOfMemoryKills ?? 0) > 0) return bad('out_of_memory', 'out of memory');
  const how = ending.kind === 'exited' ? `exit code ${ending.exitCode}` : ending.kind;
  return bad('exit', `${how}: ${(stderr.head + stderr.tail).slice(-500)}`.trim());
}

/** Itself, or what its shell waited for. Programs that it ran as the policy may be killed for memory without hurting it. */
const wasKilled = (ending: CallAnswer['ending']) =>
  (ending.kind === 'signalled' && ending.signal === 'SIGKILL') ||
  (ending.kind === 'exited' && ending.exitCode === 137);

/**
 * A grader reads what the policy left and may be led to nonsense by it: a number that is none is an ending like a crash,
 * and no way out of a low score.
 */
function scored(text: string | null): CommandGrade {
  const score = scoreIn(text ?? '');
  if (score !== null) return { kind: 'scored', score };
  return bad('exit', `it ended well, and its score file holds no finite number: ${JSON.stringify(text)}`);
}

/** The finite number that a score file holds, alone or on a line; null where it holds anything else. */
export function scoreIn(text: string): number | null {
  if (text.trim() === '' || text.length > longestScoreBytes) return null;
  const score = Number(text);
  return Number.isFinite(score) ? score : null;
}

/**
 * What a sandbox filled by the policy lacks: memory, which its files take too, and processes. sandboxd says these only if the sandbox's
 * own account shows it, else LOST. The other failures come from time or the machine alone.
 */
export const ownShortages: ReadonlySet<string> = new Set(['ENOMEM', 'EAGAIN', 'SIGKILL']);

function withoutFolder({ errno, message }: Extract<GradeTurn, { kind: 'folder_failed' }>): CommandGrade {
  if (ownShortages.has(errno)) return bad('broken', message);
  throw suspiciousFailure(`the grader's folder could not be used: ${message}`, errno);
}

const bad = (how: Extract<CommandGrade, { kind: 'bad' }>['how'], reason: string): CommandGrade => ({
  kind: 'bad',
  how,
  reason,
});

export const badEnd = (...how: Parameters<typeof bad>): CommandEnd => ({ grade: bad(...how), stderr: '' });

export const brokenByPolicy = (reason: string) => badEnd('broken', `the policy broke its sandbox: ${reason}`);

/** By what its sandbox says. */
export const graderFailed = (message: string, errno: string) =>
  new Failure('grader_failed', message, { evidence: { errno, ...saidBySandbox } });

/** A failure that the policy may have caused, without proof. */
export const suspiciousFailure = (message: string, errno: string) =>
  new Failure('grader_failed', message, { evidence: { errno, suspected: 'command' } });

/** A sandboxd that does not keep to the protocol is nobody's reward. */
export const brokenProtocol = (reason: string) =>
  new Failure('unclassified', `the grader could not be run: ${reason}`, {
    admitted: 'unknown',
    evidence: saidBySandbox,
  });

/** A sandboxd that may be the policy is no bug: the grader has failed, marked, and gets its other turns. */
export const unlessPolicys = (failure: Failure): Failure =>
  failure.code === 'unclassified' && failure.evidence['said_by'] === saidBySandbox.said_by
    ? suspiciousFailure(failure.message, 'EPROTO')
    : failure;
