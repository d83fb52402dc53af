import { type FailureCode, failureCodes } from '../codes.ts';
import { over, wrongRequest } from './callers-own.ts';
import type { Meaning } from './meaning.ts';
import { fleetItself, grading, lostState, noSandbox, unfinished } from './ours.ts';

/** Every code's meaning: one that nobody has described does not compile. */
export const meanings: Readonly<Record<FailureCode, Meaning>> = {
  ...noSandbox,
  ...lostState,
  ...unfinished,
  ...grading,
  ...fleetItself,
  ...over,
  ...wrongRequest,
};

/** Codes that are told together, with what holds for all of them. */
export type Section = {
  readonly title: string;
  readonly intro: string;
  readonly codes: readonly FailureCode[];
};

const codesOf = (told: object) => failureCodes.filter((code) => code in told);

export const sections: readonly Section[] = [
  {
    title: 'No sandbox yet',
    intro:
      'Nothing ran and nothing is tainted. Until its first call a rollout is moved from one sandbox to another without a word; what leaves here has lasted for as long as the request could wait.',
    codes: codesOf(noSandbox),
  },
  {
    title: 'The rollout’s state is gone',
    intro:
      'Commands had run, and what they left is gone or in doubt. The rollout is tainted for good: every later call and the grader answer the same code, no repeat helps, and it is never scored.',
    codes: codesOf(lostState),
  },
  { title: 'Not done yet', intro: '', codes: codesOf(unfinished) },
  {
    title: 'No score',
    intro: 'The grader is the veto: it answers a finite score or a 5xx, never a zero in the place of one.',
    codes: codesOf(grading),
  },
  {
    title: 'The fleet itself',
    intro: 'No rollout is harmed by these alone. What can pass is tried again inside first.',
    codes: codesOf(fleetItself),
  },
  {
    title: 'The caller: it is over',
    intro:
      'The request came too late. The native face says 409 or 410; on the RFT face every failure is a 5xx, because a 4xx body would be shown to the model.',
    codes: codesOf(over),
  },
  {
    title: 'The caller: the request is wrong',
    intro: 'Repeating it changes nothing; the job or the request must be fixed.',
    codes: codesOf(wrongRequest),
  },
];
