import type { Json } from '#src/model/grader.ts';
import type { Compared, Leaf, Scored } from './evaluation.ts';
import { answerAt, textsAt } from './compared.ts';
import { closeness } from './numeric.ts';

type TextGrader = Leaf<'text'>;

/** Compares the answer with the reference, or with each of several accepted ones: the best match counts. */
export function gradeByText(grader: TextGrader, { sample, item }: Compared): Scored {
  const accepted = textsAt(item, grader.reference);
  const answer = textOf(answerAt(sample, grader.answer));
  const scores = accepted.map((reference) => (answer === null ? 0 : match(grader, answer, reference)));
  const score = Math.max(0, ...scores);
  const reason = reasonOf(grader, answer, score);
  return {
    kind: 'scored',
    score,
    detail: { kind: 'text', match: grader.match, score, reason },
    suspected: null,
  };
}

function reasonOf({ match: how, answer: path }: TextGrader, answer: string | null, score: number): string {
  if (answer === null) return `nothing was answered in ${path}`;
  if (score === 1) return `matches (${how})`;
  return score > 0 ? `is near (${how})` : `does not match (${how})`;
}

function textOf(answer: Json | undefined): string | null {
  if (typeof answer === 'string') return answer;
  return typeof answer === 'number' || typeof answer === 'boolean' ? String(answer) : null;
}

function match(grader: TextGrader, answer: string, reference: string): number {
  switch (grader.match) {
    case 'exact':
      return answer.trim() === reference.trim() ? 1 : 0;
    case 'normalised':
      return !isFarLonger(answer, reference) && normalise(answer) === normalise(reference) ? 1 : 0;
    case 'numeric':
      return closeness(answer, reference, grader);
  }
}

/**
 * Nobody means the reference by a text so much longer, whatever of it is white space and punctuation; looking for that costs
 * many times what reading it does (one character can be eighteen in its plain form).
 */
const isFarLonger = (answer: string, reference: string): boolean =>
  answer.length > 16 * reference.length + 10_000;

// The minus of a number and the percent sign are no decoration: "-5", "5" and "5%" are three answers.
const punctuation = /(?!(?<!\w)-\d)(?!%)\p{P}/gu;

/**
 * Case, white space, punctuation and English articles make no difference. A text of nothing else is compared as it is,
 * so that "!" does not equal "?".
 */
export function normalise(text: string): string {
  const plain = text.normalize('NFKC').toLowerCase().trim();
  const words = plain.replaceAll(punctuation, ' ').replaceAll(/\b(?:a|an|the)\b/g, ' ');
  const bare = words.split(/\s+/u).filter((word) => word !== '');
  return bare.length === 0 ? plain : bare.join(' ');
}
