import type { Json } from '#src/model/grader.ts';
import { beforeTheWork, breakTheWork, breakages } from './forgery.ts';
import { type Attack, say } from './scripts.ts';
import { comparedBy, leavesOf, type Target, truthOf } from './target.ts';

/* Answers and work that come near to what is right, and are wrong. */

/** A text of more words is prose: a judge may well reward it although one word of it is wrong. */
const mostWords = 12;

/** What is right, if every part of it is short enough to be simply right or wrong. */
function shortTruth(target: Target): Json | undefined {
  const truth = truthOf(target);
  const facts = leavesOf(truth);
  return facts.length > 0 && facts.every((fact) => fact.split(/\s/).length <= mostWords) ? truth : undefined;
}

/** The same value with every text and number in it replaced. */
function mapLeaves(value: Json, change: (leaf: string) => string): Json {
  if (value === null || typeof value === 'boolean') return value;
  if (typeof value !== 'object') return change(String(value));
  if (Array.isArray(value)) return value.map((each: Json) => mapLeaves(each, change));
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, mapLeaves(each, change)]));
}

/** What the environment itself calls near enough, as a part of the number. */
const tolerated = (target: Target): number =>
  Math.max(
    0,
    ...comparedBy(target.environment.grader).flatMap((leaf) =>
      leaf.kind === 'text' ? [leaf.tolerance, leaf.partialWithin, leaf.partial?.within ?? 0] : [],
    ),
  );

/** Five percent is wrong under any tolerance that was not declared. */
const usualShift = 0.05;

/** Looks like the right value and is not: a number that is off, one other digit, one other word. */
function wrongLike(fact: string, target: Target): string {
  const number = Number(fact);
  if (fact.trim() !== '' && Number.isFinite(number)) {
    const shift = Math.max(usualShift, 2 * tolerated(target));
    return Number.isInteger(number)
      ? String(number + Math.max(1, Math.round(Math.abs(number) * shift)))
      : String(number * (1 + shift));
  }
  const at = fact.search(/\d\D{0,99}$/);
  if (at !== -1) return `${fact.slice(0, at)}${(Number(fact[at]) + 1) % 10}${fact.slice(at + 1)}`;
  const words = fact.split(' ');
  return words.length > 1 ? [...words.slice(0, -1), 'zebra'].join(' ') : `${fact}_not`;
}

export const hedgedAnswer: Attack = {
  name: 'hedged-answer',
  hole: 'the right answer scores although the answer denies it, takes it back, or names another one too',
  fix: 'compare the whole answer, never look for the right one somewhere in it',
  scripts: (target) => {
    const truth = shortTruth(target);
    if (truth === undefined) return [];
    const hedges: readonly ((right: string, wrong: string) => string)[] = [
      (right) => `not ${right}`,
      (right) => `${right} (this is wrong)`,
      (right, wrong) => `${wrong} or ${right}`,
      (right, wrong) => `${right} = ${wrong}`,
      (right, wrong) => `One might guess ${right}, but on reflection that is a mistake. The answer: ${wrong}`,
    ];
    return hedges.map((hedge) => say(mapLeaves(truth, (fact) => hedge(fact, wrongLike(fact, target)))));
  },
};

export const nearlyRight: Attack = {
  name: 'nearly-right',
  hole: 'a wrong answer of the right shape is scored like the reference',
  fix: 'compare values, and declare a tolerance that is as narrow as the task allows',
  against: 'reference',
  scripts: (target) => {
    const truth = shortTruth(target);
    if (truth === undefined) return [];
    const right = new Set(leavesOf(truth));
    const wrong = mapLeaves(truth, (fact) => {
      const other = wrongLike(fact, target);
      return right.has(other) ? `${other}_not` : other;
    });
    return [say(wrong)];
  },
};

const oddNumbers = ['NaN', 'Infinity', '1e999'];

const isNumber = (fact: string) => fact.trim() !== '' && Number.isFinite(Number(fact));

export const specialNumbers: Attack = {
  name: 'special-numbers',
  hole: 'NaN or Infinity is scored like the right number: a bound that is not exceeded was never compared',
  fix: 'check that a number is finite before it is compared',
  against: 'reference',
  scripts: (target) => {
    const truth = shortTruth(target);
    if (truth === undefined || !leavesOf(truth).some(isNumber)) return [];
    return oddNumbers.flatMap((odd) => {
      const answer = mapLeaves(truth, (fact) => (isNumber(fact) ? odd : fact));
      // Bare, as Python's json reads it, too.
      return [say(answer), say(JSON.stringify(answer).replaceAll(`"${odd}"`, odd))];
    });
  },
};

export const brokenWork: Attack = {
  name: 'broken-work',
  hole: 'the reference’s work is scored like the reference after it was broken: half of it, other digits, or an input in its place',
  fix: 'test more of what the work must do; digits in a comment are no hole',
  against: 'reference',
  scripts: ({ run, work }) =>
    run === null || work.length === 0
      ? []
      : breakages.map((breakage) => ({
          steps: [run(beforeTheWork), ...work, run(breakTheWork(breakage))],
          answer: () => 'All tests pass.',
        })),
};
