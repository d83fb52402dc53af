import { targetOf } from '../claiming/target.ts';
import { Failure } from '../failure/failure.ts';
import { callId } from '../model/ids.ts';
import type { Random } from '../ports/random.ts';
import { LinkError } from '../ports/sandbox-link.ts';
import type { SandboxLink, SandboxTarget } from '../ports/sandbox-link.ts';
import type { CallAnswer } from '../protocol/sandboxd/wire.ts';
import type { GradeJob } from './job.ts';
import { untilEnded } from '../waiting/until-ended.ts';
import type { CommandGrade, Leaf } from './graders/evaluate.ts';
import { longestScoreBytes, parseScore } from './score-file.ts';

export type CommandGraderDeps = {
  readonly link: Pick<SandboxLink, 'quiesce' | 'putFile' | 'getFile' | 'call'>;
  readonly random: Random;
};

/** Beyond the command's own timeout: killing its tree on a busy machine. */
const answerGraceMs = 30_000;
const transferMs = 60_000;
/** Of a grader's own output, for the person who asks why it ended badly. */
const keepBytes = 16_384;

/**
 * Grades inside the rollout's own sandbox, so that the grader sees what the policy left there:
 *
 *   kill every process of the policy ──▶ place the grader's files ──▶ run it ──▶ read its score file
 *
 * It runs as a third user, in a folder that the policy can neither read nor guess; the item is on its stdin, and it
 * finds `CORRAL_GRADER_DIR` and `CORRAL_SCORE_FILE` in its environment. What the policy may have caused is told as
 * `bad`; what it cannot have caused throws (`grader_failed`, `sandboxd_unreachable`).
 */
export async function runCommandGrader(
  deps: CommandGraderDeps,
  job: GradeJob,
  leaf: Leaf<'command'>,
): Promise<CommandGrade> {
  if (job.rollout.broken !== null) return broken(`the policy broke its sandbox: ${job.rollout.broken}`);
  const target = targetOf(job.rollout);
  const folder = `/tmp/corral-grader-${deps.random.text(20)}`;
  try {
    const left = await deps.link.quiesce(target, AbortSignal.timeout(transferMs));
    if (left.survivors > 0) return broken(`${left.survivors} processes of the policy could not be killed`);
    await placeFiles(deps, target, folder, leaf.files);
    const answer = await run(deps, target, job, leaf, folder);
    return badEnding(leaf, answer) ?? { kind: 'scored', score: await readScore(deps, target, folder) };
  } catch (thrown) {
    if (!(thrown instanceof LinkError)) throw thrown;
    return afterTrouble(thrown);
  }
}

async function placeFiles(
  deps: CommandGraderDeps,
  target: SandboxTarget,
  folder: string,
  files: Leaf<'command'>['files'],
): Promise<void> {
  // The folder must be there for the score even when the grader has no files.
  for (const [name, text] of Object.entries({ ...files, '.corral': '' })) {
    await deps.link.putFile(
      target,
      `${folder}/${name}`,
      bytesOf(text),
      'grader',
      AbortSignal.timeout(transferMs),
    );
  }
}

async function run(
  deps: CommandGraderDeps,
  target: SandboxTarget,
  job: GradeJob,
  leaf: Leaf<'command'>,
  folder: string,
): Promise<CallAnswer | 'running'> {
  // Each turn is a run of its own; the space keeps the id apart from every caller's.
  const call = callId(`corral grade ${job.turn} ${folder}`);
  const env = { CORRAL_GRADER_DIR: folder, CORRAL_SCORE_FILE: `${folder}/score` };
  const action = {
    kind: 'exec',
    argv: leaf.argv,
    env,
    stdin: JSON.stringify(job.item),
    user: 'grader',
  } as const;
  const request = { digest: call, action, timeoutMs: leaf.timeoutMs, keepBytes };
  return untilEnded(leaf.timeoutMs + answerGraceMs, (waitMs, signal) =>
    deps.link.call(target, call, request, waitMs, signal),
  );
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

async function readScore(deps: CommandGraderDeps, target: SandboxTarget, folder: string): Promise<number> {
  const signal = AbortSignal.timeout(transferMs);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of await deps.link.getFile(target, `${folder}/score`, 'grader', signal)) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > longestScoreBytes) break;
  }
  return parseScore(Buffer.concat(chunks).toString('utf8'));
}

/** A full disk or a missing path inside the sandbox may be the policy's doing; a connection that fails is not. */
function afterTrouble(error: LinkError): CommandGrade {
  const { trouble } = error;
  if (trouble.kind === 'refused' && trouble.code === 'file_error') {
    if (trouble.errno === 'ENOENT')
      throw new Failure('grader_failed', 'the grader ended well and wrote no score file');
    return broken(trouble.message);
  }
  throw new Failure(
    'sandboxd_unreachable',
    `the sandbox went away while its rollout was graded: ${error.message}`,
    {
      admitted: 'unknown',
      cause: error,
    },
  );
}

function broken(reason: string): CommandGrade {
  return { kind: 'bad', how: 'broken', reason };
}

async function* bytesOf(text: string): AsyncIterable<Uint8Array> {
  yield Buffer.from(text, 'utf8');
}
