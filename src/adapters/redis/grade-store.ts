import type { FailureCode } from '#src/failure/codes.ts';
import { Barred, type Evidence, Failure } from '#src/failure/failure.ts';
import { suspectedIn } from '#src/failure/verdict.ts';
import { restsOnSandbox } from '#src/failure/witness.ts';
import { graderKey } from '#src/model/rollout.ts';
import type { GradeBegin, GradeStore } from '#src/ports/fleet/grades.ts';
import { evidenceText, recordOf, recordOrNull } from './record.ts';
import { type RunScript, scriptsOver } from './script-runner.ts';
import type { grading } from './scripts/grading.ts';
import type { Static } from 'typebox';

/** `score` throws the rollout's code when it was tainted or closed while the grader ran: that score is void. */
export function gradeStore(run: RunScript): GradeStore {
  const { ask } = scriptsOver(run);
  const discard = async (asked: Discard, evidence: Evidence) => {
    const { first, rollout } = await ask('discard-rollout', { ...asked, evidence: evidenceText(evidence) });
    return { first, rollout: recordOrNull(rollout) };
  };
  return {
    begin: async (key, { by, gradeMs, inSandbox, seenIn }) => {
      const asked = { key, by, gradeMs: Math.round(gradeMs), inSandbox, seenIn: seenIn ?? undefined };
      return beginOf(await ask('begin-grade', asked));
    },
    score: async (key, turn, score, detail) => {
      if (!Number.isFinite(score))
        throw new Failure('grader_failed', `the score ${score} is not a finite number`);
      const asked = { key, turn, score: String(score), detail: evidenceText(detail) };
      return scoreOf(await ask('store-score', asked), key);
    },
    discard: (key, code, evidence) => discard({ key, why: 'unseen', code }, evidence),
    distrust: (key, turn, evidence) =>
      discard({ key, why: 'distrust', turn, code: 'judge_suspect' }, evidence),
    artifactsTaken: async (key, turn) => {
      await ask('artifacts-taken', { key, turn });
    },
    releaseGrader: async (key, turn) => {
      await ask('release-grader', { grader: graderKey(key), turn });
    },
    failed: async (key, turn, evidence) => {
      const suspected = suspectedIn(evidence) ?? undefined;
      const bySandbox = restsOnSandbox(evidence['code'], evidence);
      const asked = { key, turn, evidence: evidenceText(evidence), suspected, bySandbox };
      const { turnsLeft, rollout } = await ask('fail-grade', asked);
      return { turnsLeft, rollout: recordOrNull(rollout) };
    },
  };
}

type Discard = Omit<Static<(typeof grading)['discard-rollout']['ask']>, 'evidence'>;

function beginOf(reply: Static<(typeof grading)['begin-grade']['reply']>): GradeBegin {
  switch (reply.kind) {
    case 'run':
      return { kind: 'run', turn: reply.turn, rollout: recordOf(reply.rollout) };
    case 'wait':
      return { kind: 'wait', for: reply.on };
    case 'scored':
      return { kind: 'scored', score: Number(reply.score), rollout: recordOf(reply.rollout) };
    case 'waiting':
      return { kind: 'waiting' };
    case 'barred':
      return {
        kind: 'barred',
        code: reply.code as FailureCode,
        first: reply.first,
        rollout: recordOrNull(reply.rollout),
      };
  }
}

function scoreOf(reply: Static<(typeof grading)['store-score']['reply']>, key: string) {
  if (reply.kind === 'forgotten') return null;
  if (reply.kind === 'barred') {
    const code = reply.code as FailureCode;
    throw new Barred(code, `the score of ${key} came too late to count: ${code}`);
  }
  return { first: reply.kind === 'first', score: Number(reply.score) };
}
