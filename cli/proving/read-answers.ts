import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { ErrorAnswer } from '#src/protocol/native/parts.ts';
import type { HttpAnswer } from '../gateway/http-client.ts';
import { bytes } from '../print/amounts.ts';

const ToolAnswer = Type.Object({ output: Type.String() });
const ScoreAnswer = Type.Object({ score: Type.Number() }, { additionalProperties: false });

/** Why a rollout has no score: a trainer discards it. */
export type Lost = {
  /** The tool, or the grader. */
  readonly at: string;
  /** Null where what answered is not Corral. */
  readonly code: string | null;
  readonly blame: string;
  readonly message: string;
};

type Judged = { readonly ok: boolean; readonly detail: string };

/** A tool call is in order when it is answered for the model, whatever the tool itself says. */
export function judgeToolAnswer(answer: HttpAnswer): Judged {
  const body = parse(answer.body);
  if (answer.status !== 200 || !Value.Check(ToolAnswer, body)) return { ok: false, detail: trouble(answer) };
  const firstLine = body.output.split('\n')[0] ?? '';
  const shown = firstLine.length > 60 ? `${firstLine.slice(0, 60)}…` : firstLine;
  return {
    ok: true,
    detail: `${bytes(Buffer.byteLength(body.output))} for the model: ${JSON.stringify(shown)}`,
  };
}

/** The score of a grade, or what was answered instead. */
export function readScore(answer: HttpAnswer): number | Judged {
  const body = parse(answer.body);
  if (answer.status === 200 && Value.Check(ScoreAnswer, body)) return body.score;
  return { ok: false, detail: trouble(answer) };
}

/** The text for the model; null where a call was not answered for it. */
export function readOutput(answer: HttpAnswer): string | null {
  const body = parse(answer.body);
  return answer.status === 200 && Value.Check(ToolAnswer, body) ? body.output : null;
}

/** What was answered instead of an output or a score. */
export function readLoss(answer: HttpAnswer, at: string): Lost {
  const body = parse(answer.body);
  if (!Value.Check(ErrorAnswer, body)) return { at, code: null, blame: 'unknown', message: trouble(answer) };
  const { code, blame, message } = body.error;
  return { at, code, blame, message };
}

function trouble({ status, body }: HttpAnswer): string {
  const parsed = parse(body);
  if (Value.Check(ErrorAnswer, parsed)) {
    const { code, blame, message } = parsed.error;
    return `answered ${status}: ${message} (${code}, blame: ${blame})`;
  }
  return `answered ${status} with something that is not Corral's: ${body.slice(0, 120)}`;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
