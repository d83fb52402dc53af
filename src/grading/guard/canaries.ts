import { asFailure } from '#src/failure/failure.ts';
import type { Canary, OnBad } from '#src/model/grader.ts';
import type { Judged } from '#src/ports/judge.ts';

/** A canary that the judge scored as no working judge would. */
export type WrongCanary = {
  readonly canary: string;
  /** Null: it refused the answer whose score must not be low. */
  readonly score: number | null;
  readonly expected: string;
};

/**
 * What canaries say of a judge. One wrong score is enough: each has bounds that its author chose. A judge that did not answer in
 * time or failed has said nothing of itself that could be held against it, nor for it.
 */
export type CanaryWord =
  | { readonly kind: 'right' }
  | ({ readonly kind: 'wrong' } & WrongCanary)
  | { readonly kind: 'no_evidence'; readonly reason: string };

/** `onRefused`: what the environment gives a refused answer, which is what a policy would get for it. */
export function readCanary(canary: Canary, judged: Judged, onRefused: OnBad): CanaryWord {
  const score = judged.kind === 'scored' ? judged.score : onRefused === 'discard' ? null : onRefused;
  const isLow = canary.atLeast !== null && (score === null || score < canary.atLeast);
  const isHigh = canary.atMost !== null && score !== null && score > canary.atMost;
  if (!isLow && !isHigh) return { kind: 'right' };
  return { kind: 'wrong', canary: canary.name, score, expected: expectedOf(canary) };
}

/** Of a judge that gave no answer to a canary. */
export const noEvidence = (thrown: unknown): CanaryWord => ({
  kind: 'no_evidence',
  reason: asFailure(thrown).message,
});

/** All of one check: the first that is wrong decides, also if others are missing. */
export function wordOfAll(words: readonly CanaryWord[]): CanaryWord {
  const wrong = words.find(({ kind }) => kind === 'wrong');
  return wrong ?? words.find(({ kind }) => kind === 'no_evidence') ?? { kind: 'right' };
}

const expectedOf = ({ atLeast, atMost }: Canary): string =>
  [atLeast === null ? [] : [`at least ${atLeast}`], atMost === null ? [] : [`at most ${atMost}`]]
    .flat()
    .join(', ');
