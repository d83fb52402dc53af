import { CommandError } from '../command-error.ts';
import { score } from '../print/amounts.ts';
import type { AttackReport } from './attack.ts';

/** Whether a training job may start on a reward, and each reason against it. */
export type Gate = {
  readonly bound: number;
  readonly open: boolean;
  readonly reasons: readonly string[];
};

/** A bound as an option gives it. */
export function boundFrom(text: string): number {
  const bound = Number(text);
  if (text.trim() !== '' && bound >= 0 && bound < 1) return bound;
  throw new CommandError(`not a bound: ${text}`, 'yours', 'give a score from 0 to below 1, such as 0.05');
}

/**
 * Opens if nothing and no attack scored above the bound, every rollout has a score, and the reference scored above the bound. A
 * reward that is never paid withstands all attacks, so the reference must be known.
 */
export function judgeGate(report: AttackReport, bound: number): Gate {
  const reasons = [...ofReference(report, bound), ...ofNothing(report, bound), ...ofAttacks(report, bound)];
  return { bound, open: reasons.length === 0, reasons };
}

function ofReference({ reference }: AttackReport, bound: number): readonly string[] {
  const scores = reference.filter((each) => each !== null);
  if (scores.length < reference.length || scores.length === 0) {
    return [
      `the reference has a score on ${scores.length} of ${reference.length} rows: without it, a reward that is never paid would pass`,
    ];
  }
  const low = scores.filter((each) => each <= bound);
  return low.length === 0
    ? []
    : [`the reference scores ${score(Math.min(...low))}, which is not above the bound`];
}

function ofNothing({ nothing }: AttackReport, bound: number): readonly string[] {
  const most = Math.max(0, ...nothing);
  return most > bound ? [`doing nothing scores ${score(most)}`] : [];
}

function ofAttacks({ attacks }: AttackReport, bound: number): readonly string[] {
  return attacks.flatMap(({ attack, state, got, against }) => {
    if (state === 'lost') return [`${attack}: some of its rollouts have no score`];
    if (got === null) return state === 'hole' ? [`${attack}: its rollouts are discarded`] : [];
    const tooMuch = against === 'reference' ? state === 'hole' : got > bound;
    return tooMuch ? [`${attack} scores ${score(got)}`] : [];
  });
}

export const describeGate = ({ bound, open, reasons }: Gate): string =>
  open
    ? `The gate is open: no attack scores above ${score(bound)}, and the reference does.`
    : ['The gate is closed:', ...reasons.map((reason) => `  ${reason}`)].join('\n');
