import { type FailureCode, failureCodes } from '../codes.ts';
import { over, wrongRequest } from './callers-own.ts';
import type { Meaning } from './meaning.ts';
import { fleetItself, grading, lostState, noSandbox, unfinished } from './ours.ts';

/** Every code's meaning. A code without a description does not compile. */
export const meanings: Readonly<Record<FailureCode, Meaning>> = {
  ...noSandbox,
  ...lostState,
  ...unfinished,
  ...grading,
  ...fleetItself,
  ...over,
  ...wrongRequest,
};

/** Codes described together, with what holds for all of them. */
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
      'Nothing ran and nothing is tainted. Until its first call, or its first that is not [set-up](api.md#set-up), a rollout silently moves from one sandbox to another. A request fails with one of these codes only after it has waited as long as it could.',
    codes: codesOf(noSandbox),
  },
  {
    title: 'The rollout’s state is gone',
    intro:
      'Commands had run, and their results are lost or uncertain. The rollout is permanently tainted: every later call and the grade return the same code, no repeat helps, and it is never scored.',
    codes: codesOf(lostState),
  },
  { title: 'Not done yet', intro: '', codes: codesOf(unfinished) },
  {
    title: 'No score',
    intro: 'The grader has the veto: it returns a finite score or a 5xx, never a zero in place of a failure.',
    codes: codesOf(grading),
  },
  {
    title: 'The fleet itself',
    intro: 'These alone harm no rollout. The fleet first retries what may pass.',
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
