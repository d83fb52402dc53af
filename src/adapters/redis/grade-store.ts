import type { FailureCode } from '#src/failure/codes.ts';
import { Failure } from '#src/failure/failure.ts';
import { graderKey } from '#src/model/rollout.ts';
import type { GradeBegin, GradeStore } from '#src/ports/fleet/grades.ts';
import { evidenceText, recordOf, recordOrNull } from './record.ts';
import { listOf, numberOf, textOf, type Reply, type RunScript } from './script-runner.ts';

/** `score` throws the rollout's code when it was tainted or closed while the grader ran: that score is void. */
export function gradeStore(run: RunScript): GradeStore {
  return {
    begin: async (key, { by, gradeMs, inSandbox, seenIn }) =>
      beginOf(await run('begin-grade', key, by, Math.round(gradeMs), inSandbox ? 1 : 0, seenIn ?? '')),
    score: async (key, turn, score, detail) => {
      if (!Number.isFinite(score))
        throw new Failure('grader_failed', `a score of ${score} is no finite number`);
      return scoreOf(await run('store-score', key, turn, score, evidenceText(detail)), key);
    },
    discard: async (key, code) => (await run('discard-rollout', key, code)) === 1,
    artifactsTaken: async (key, turn) => {
      await run('artifacts-taken', key, turn);
    },
    releaseGrader: async (key, turn) => {
      await run('release-grader', graderKey(key), turn);
    },
    failed: async (key, turn, evidence) => ({
      turnsLeft: numberOf(await run('fail-grade', key, turn, evidenceText(evidence))),
    }),
  };
}

function beginOf(reply: Reply): GradeBegin {
  const [answered, extra, record] = listOf(reply);
  const kind = textOf(answered);
  switch (kind) {
    case 'run':
      return { kind, turn: numberOf(extra), rollout: recordOf(record) };
    case 'wait':
      return { kind, for: textOf(extra) as 'calls' | 'grader' };
    case 'scored':
      return { kind, score: numberOf(extra), rollout: recordOf(record) };
    case 'waiting':
      return { kind };
    case 'barred':
      return { kind, code: textOf(extra) as FailureCode, rollout: recordOrNull(record) };
    default:
      throw new TypeError(`the begin of a grading answered ${JSON.stringify(kind)}`);
  }
}

function scoreOf(reply: Reply, key: string) {
  const [kind, extra] = listOf(reply);
  if (kind === 'forgotten') return null;
  if (kind === 'barred') {
    const code = textOf(extra) as FailureCode;
    throw new Failure(code, `the score of ${key} came too late to count: ${code}`);
  }
  return { first: kind === 'first', score: numberOf(extra) };
}
