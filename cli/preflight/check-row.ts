import { Type } from 'typebox';
import type { Json } from '#src/model/grader.ts';
import { askNative } from '../gateway/http-client.ts';
import { score as showScore } from '../print/amounts.ts';
import { sampleArguments } from '../proving/made-up.ts';
import { judgeToolAnswer, readScore } from '../proving/read-answers.ts';
import { gradeUntouched, trainRollout } from '../proving/training-job.ts';
import { checkStart, type RowUnderTest } from './check-start.ts';
import { type Check, tryOut } from './check.ts';

/** Every tool and the grader on one dataset row, as a training platform would use them; if no sandbox starts, why not. */
export async function checkRow(under: RowUnderTest): Promise<readonly Check[]> {
  const start = await checkStart(under);
  if (!start.ok) return [start];
  const ends = under.job.grader === null ? [await checkBroughtScore(under)] : await checkAnswers(under);
  return [...(await checkTools(under)), ...ends];
}

/** Where the trainer grades by itself: that a score can be brought, and is the one that stands. */
function checkBroughtScore({ client, environment, row, traceId, label }: RowUnderTest): Promise<Check> {
  return tryOut(environment, `${label}score brought at the end`, async () => {
    const id = `${traceId}-brought`;
    const opening = { rollout_id: id, environment, item: row.item };
    await askNative(client, { method: 'POST', path: '/v1/rollouts', body: opening }, Type.Object({}));
    const path = `/v1/rollouts/${encodeURIComponent(id)}/finish`;
    const Finished = Type.Object({ score: Type.Union([Type.Number(), Type.Null()]) });
    const { score } = await askNative(client, { method: 'POST', path, body: { score: 1 } }, Finished);
    return { ok: score === 1, detail: score === 1 ? 'is stored' : `brought 1, stored ${score}` };
  });
}

async function checkTools({ client, environment, job, row, traceId, label }: RowUnderTest) {
  const rollout = trainRollout(client, job, `${traceId}-tools`, row.item);
  const checks: Check[] = [];
  for (const { function: tool } of job.functions) {
    const call = async () => judgeToolAnswer(await rollout.call(tool.name, sampleArguments(tool)));
    checks.push(await tryOut(environment, `${label}tool ${tool.name}`, call));
  }
  if (job.grader === null) return checks;
  const grade = async () => judgeScore(readScore(await rollout.grade(undefined)), () => null);
  checks.push(await tryOut(environment, `${label}grader after those calls`, grade));
  return checks;
}

/** A rollout without a call reaches the grader too; then the answers that the row brings. */
async function checkAnswers(under: RowUnderTest): Promise<readonly Check[]> {
  const { row, label, environment } = under;
  let untouched: number | null = null;
  let reference: number | null = null;
  const checks = [
    await tryOut(environment, `${label}grader of an untouched sandbox`, async () => {
      const seen = await gradeBySelf(under, 'untouched', '');
      if (seen.ok) untouched = seen.score;
      return seen;
    }),
  ];
  for (const [index, answer] of under.harmless.entries()) {
    const grade = () => gradeBySelf(under, `harmless-${index + 1}`, answer);
    checks.push(await tryOut(environment, `${label}judge of a harmless answer`, grade));
  }
  if (row.reference !== undefined) {
    const answer = row.reference;
    const rule = (score: number) =>
      untouched !== null && score <= untouched
        ? 'the reference answer scores no better than no answer'
        : null;
    checks.push(
      await tryOut(environment, `${label}reference answer`, async () => {
        const score = await gradeAnswer(under, 'reference', answer);
        if (typeof score === 'number') reference = score;
        return judgeScore(score, rule);
      }),
    );
  }
  if (row.cheating !== undefined) {
    const answer = row.cheating;
    const rule = (score: number) =>
      reference !== null && score >= reference ? 'the cheating answer scores as well as the reference' : null;
    checks.push(
      await tryOut(environment, `${label}cheating answer`, async () =>
        judgeScore(await gradeAnswer(under, 'cheating', answer), rule),
      ),
    );
  }
  return checks;
}

/** A bad ending where nothing was done is the grader's own. */
async function gradeBySelf(
  { client, environment, row, traceId }: RowUnderTest,
  kind: string,
  answer: string,
) {
  const rollout = { client, environment, item: row.item, rolloutId: `${traceId}-${kind}` };
  const { score, broken, changes } = await gradeUntouched(rollout, answer);
  const shown = `score ${showScore(score)}${changes === null ? '' : `, ${changes}`}`;
  if (broken === null) return { ok: true, score, detail: shown };
  return {
    ok: false,
    score,
    detail: `${shown}, but by a bad ending, and nothing had run: the grader is broken: ${broken}`,
  };
}

async function gradeAnswer(under: RowUnderTest, kind: string, answer: Json | undefined) {
  const rollout = trainRollout(under.client, under.job, `${under.traceId}-${kind}`, under.row.item);
  return readScore(await rollout.grade(answer));
}

function judgeScore(score: ReturnType<typeof readScore>, broken: (score: number) => string | null) {
  if (typeof score !== 'number') return score;
  const mistake = broken(score);
  return {
    ok: mistake === null,
    detail: `score ${showScore(score)}${mistake === null ? '' : `: ${mistake}`}`,
  };
}
