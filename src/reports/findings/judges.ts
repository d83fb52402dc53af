import { aboutRollouts, type Finding } from './finding.ts';
import { meanOf, type SteppedRollout } from './runs.ts';

/* What speaks against a judge. Neither changes a score: a person decides. */

/** A judge that scored a canary wrongly, with the grades that had been answered since it was last right: they keep their scores. */
export function judgeFindings(rollouts: readonly SteppedRollout[]): readonly Finding[] {
  const suspects = rollouts.filter(({ loss }) => loss?.code === 'judge_suspect');
  if (suspects.length === 0) return [];
  const spans = suspects.map(({ loss, endedAtMs }) => ({
    fromMs: loss?.judgeRightAtMs ?? 0,
    toMs: endedAtMs ?? Number.POSITIVE_INFINITY,
  }));
  const answered = rollouts.filter(
    ({ score, endedAtMs }) =>
      score !== null &&
      endedAtMs !== null &&
      spans.some(({ fromMs, toMs }) => endedAtMs >= fromMs && endedAtMs <= toMs),
  );
  return [
    {
      kind: 'judge_suspect',
      weight: 'bad',
      title: 'A judge scored its canaries wrongly',
      what: null,
      text: `${suspects.length} rollouts were discarded. ${answered.length} grades, listed here, were answered since the judge was last right, and keep their scores: void each that you do not believe.`,
      ...aboutRollouts(answered),
      size: suspects.length + answered.length,
    },
  ];
}

const fewestScored = 8;
/** Far more than one step of training gains. */
const leastJump = 0.3;

/** The mean of the last step far above the mean of all before it: a hole, a judge that can be flattered, or a policy that learned. */
export function jumpFindings(rollouts: readonly SteppedRollout[]): readonly Finding[] {
  const lastStep = rollouts.at(-1)?.step ?? 0;
  const scored = rollouts.filter(({ score }) => score !== null);
  const [last, before] = [true, false].map((isLast) =>
    scored.filter(({ step }) => (step === lastStep) === isLast),
  );
  if (last === undefined || before === undefined) return [];
  if (last.length < fewestScored || before.length < fewestScored) return [];
  const [now, then] = [last, before].map((some) => meanOf(some.map(({ score }) => score ?? 0)));
  if (now === undefined || then === undefined || now - then < leastJump) return [];
  return [
    {
      kind: 'reward_jump',
      weight: 'look',
      title: 'The reward jumped',
      what: null,
      text: `The mean of the last step is ${now.toFixed(2)}; of all steps before, ${then.toFixed(2)}. The policy learned, or found a hole: read some of these rollouts.`,
      ...aboutRollouts(last),
      size: now - then,
    },
  ];
}
