import { targetOf } from '../claiming/target.ts';
import { Failure } from '../failure/failure.ts';
import { callId } from '../model/ids.ts';
import type { Random } from '../ports/random.ts';
import { LinkError } from '../ports/sandbox-link.ts';
import type { SandboxLink } from '../ports/sandbox-link.ts';
import type { CallAnswer } from '../protocol/sandboxd/wire.ts';
import type { CommandGrade, Leaf } from './graders/evaluate.ts';
import { placeFile, readScore } from './grader-files.ts';
import type { GradeJob } from './job.ts';
import type { TroubleDeps } from './sandbox-trouble.ts';
import { PolicyBrokeIt, whileItStands } from './while-it-stands.ts';

export type CommandGraderDeps = TroubleDeps & {
  readonly link: Pick<SandboxLink, 'quiesce' | 'putFile' | 'getFile' | 'call'>;
  readonly random: Random;
};

/** Beyond the command's own timeout: killing its tree on a busy machine. */
const killGraceMs = 30_000;
/** One held request; a sandbox whose node is gone never closes its connections, so it is asked anew after that. */
const longestPollMs = 30_000;
/** Beyond the poll: what a healthy sandboxd may take to answer at all on a busy machine. */
const answerGraceMs = 10_000;
const quiesceMs = 60_000;
/** Of a grader's own output, for the person who asks why it ended badly. */
const keepBytes = 16_384;

/**
 * Grades inside the rollout's own sandbox, so that the grader sees what the policy left there:
 *
 *   kill every process of the policy ──▶ place the grader's files ──▶ run it ──▶ read its score file
 *
 * It runs as a third user, in a folder that the policy can neither read nor guess; the item is on its stdin, and it
 * finds `CORRAL_GRADER_DIR` and `CORRAL_SCORE_FILE` in its environment. The run has a call id in the sandbox's journal,
 * so when the connection breaks, asking again attaches to it. What the policy may have caused is told as `bad`; what it
 * cannot have caused throws: `grader_failed`, and what {@link whileItStands} throws.
 */
export async function runCommandGrader(
  deps: CommandGraderDeps,
  job: GradeJob,
  leaf: Leaf<'command'>,
): Promise<CommandGrade> {
  if (job.rollout.broken !== null) return brokenByPolicy(job.rollout.broken);
  try {
    return await gradeInside(deps, job, leaf);
  } catch (thrown) {
    if (thrown instanceof PolicyBrokeIt) return brokenByPolicy(thrown.message);
    if (thrown instanceof LinkError) return afterRefusal(thrown);
    throw thrown;
  }
}

async function gradeInside(
  deps: CommandGraderDeps,
  job: GradeJob,
  leaf: Leaf<'command'>,
): Promise<CommandGrade> {
  const { link } = deps;
  const target = targetOf(job.rollout);
  const folder = `/tmp/corral-grader-${deps.random.text(20)}`;
  const left = await whileItStands(deps, job, () => link.quiesce(target, AbortSignal.timeout(quiesceMs)));
  if (left.survivors > 0) return broken(`${left.survivors} processes of the policy could not be killed`);
  // The folder must be there for the score even when the grader has no files.
  for (const [name, text] of Object.entries({ ...leaf.files, '.corral': '' })) {
    await whileItStands(deps, job, () => placeFile(link, target, `${folder}/${name}`, text));
  }
  const bad = badEnding(leaf, await run(deps, job, leaf, folder));
  if (bad !== null) return bad;
  const score = await whileItStands(deps, job, () => readScore(link, target, scoreFileIn(folder)));
  return { kind: 'scored', score };
}

const scoreFileIn = (folder: string): string => `${folder}/score`;

async function run(
  deps: CommandGraderDeps,
  job: GradeJob,
  leaf: Leaf<'command'>,
  folder: string,
): Promise<CallAnswer | 'running'> {
  // Each turn is a run of its own; the space keeps the id apart from every caller's.
  const call = callId(`corral grade ${job.turn} ${folder}`);
  const request = { digest: call, action: actionOf(job, leaf, folder), timeoutMs: leaf.timeoutMs, keepBytes };
  const ask = (waitMs: number) =>
    deps.link.call(targetOf(job.rollout), call, request, waitMs, AbortSignal.timeout(waitMs + answerGraceMs));
  // Only time in which sandboxd said that it runs counts: it may have begun late.
  for (let leftMs = leaf.timeoutMs + killGraceMs; ; leftMs -= longestPollMs) {
    const waitMs = Math.min(leftMs, longestPollMs);
    const answer = await whileItStands(deps, job, () => ask(waitMs));
    if (answer !== 'running' || waitMs === leftMs) return answer;
  }
}

function actionOf(job: GradeJob, leaf: Leaf<'command'>, folder: string) {
  const env = { CORRAL_GRADER_DIR: folder, CORRAL_SCORE_FILE: scoreFileIn(folder) };
  return { kind: 'exec', argv: leaf.argv, env, stdin: JSON.stringify(job.item), user: 'grader' } as const;
}

/** Null: it ended well, and its score file counts. */
function badEnding(leaf: Leaf<'command'>, answer: CallAnswer | 'running'): CommandGrade | null {
  if (answer === 'running')
    return { kind: 'bad', how: 'timeout', reason: 'it could not be killed at its timeout' };
  const { ending, evidence, stderr } = answer;
  if (ending.kind === 'exited' && ending.exitCode === 0) return null;
  if (ending.kind === 'timed_out')
    return { kind: 'bad', how: 'timeout', reason: `no end after ${leaf.timeoutMs} ms` };
  if (ending.kind === 'not_started') {
    throw new Failure('grader_failed', `the grader could not be started: ${ending.message}`, {
      evidence: { errno: ending.errno },
    });
  }
  if ((evidence.outOfMemoryKills ?? 0) > 0)
    return { kind: 'bad', how: 'out_of_memory', reason: 'out of memory' };
  const how = ending.kind === 'exited' ? `exit code ${ending.exitCode}` : ending.kind;
  return { kind: 'bad', how: 'exit', reason: `${how}: ${(stderr.head + stderr.tail).slice(-500)}`.trim() };
}

/** A full disk or a missing path inside the sandbox may be the policy's doing; a sandboxd that breaks the protocol is not. */
function afterRefusal({ trouble, message }: LinkError): CommandGrade {
  if (trouble.kind !== 'refused' || trouble.code !== 'file_error') {
    throw new Failure('unclassified', `the grader could not be run: ${message}`, { admitted: 'unknown' });
  }
  if (trouble.errno !== 'ENOENT') return broken(trouble.message);
  throw new Failure('grader_failed', 'the grader ended well and wrote no score file');
}

function brokenByPolicy(reason: string): CommandGrade {
  return broken(`the policy broke its sandbox: ${reason}`);
}

function broken(reason: string): CommandGrade {
  return { kind: 'bad', how: 'broken', reason };
}
