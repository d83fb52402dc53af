import { bytes, duration } from '../print/amounts.ts';
import type { Advice, Looked, SubjectStudy } from './found.ts';

/*
 * What a person should do about what one policy or one model did: its spread, its scores, its calls, its time. Bounds are where
 * public runs went wrong or well, and are next to their sentences.
 */

export const percent = (share: number): string => `${Math.round(share * 100)} %`;
export const shown = (score: number): string => score.toFixed(2);
export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${count.toLocaleString('en-GB')} ${count === 1 ? one : many}`;

/** Half of the items teach: few datasets do better before any training, so nothing is to be fixed. */
export const enoughSpread = 0.5;

function adviceOnSpread({ name, shares, withoutChance, withoutItem }: SubjectStudy): Advice {
  const { spread, always0, always1, alike } = shares;
  if (spread === null) {
    const why =
      withoutItem > 0
        ? 'which item a rollout was of is not told: give the event log (--events), or a key of scope admin'
        : 'no item has two copies with a score: play more copies (--copies)';
    return {
      topic: 'spread',
      weight: 'look',
      found: `Nothing can be said of spread under ${name}.`,
      todo: why,
    };
  }
  const rest = alike === 0 || alike === null ? '' : `, ${percent(alike)} always the same in between`;
  const found = `${percent(spread)} of the items have spread under ${name}; ${percent(always0 ?? 0)} are always 0, ${percent(always1 ?? 0)} always 1${rest}.`;
  if (withoutChance) {
    const todo = `${name} is a script without chance, whose copies are equal by construction: this says nothing of the task; look at the spread across policies, or let the copies differ`;
    return { topic: 'spread', weight: 'look', found, todo };
  }
  if (spread >= enoughSpread) return { topic: 'spread', weight: 'good', found, todo: null };
  const weight = spread < 0.05 ? 'bad' : 'look';
  return { topic: 'spread', weight, found, todo: mendSpread(spread, always0 ?? 0, always1 ?? 0) };
}

/** Only groups with spread move the policy; what is always paid the same costs its sandboxes all the same. */
function mendSpread(spread: number, always0: number, always1: number): string {
  const filter =
    spread === 0
      ? 'nothing here would move the policy'
      : `only these teach, so ${100 - Math.round(spread * 100)} % of each step’s sandboxes are spent on nothing: take the other items out (or draw ${Math.ceil(1 / spread)} times as many a step)`;
  const why =
    always0 >= always1
      ? 'for items that are always 0 use partial credit, easier rows or more copies'
      : 'for items that are always 1 use harder rows, or make the reward stricter';
  return `${filter}; ${why}`;
}

function adviceOnBest({ name, bestOfK, withoutChance }: SubjectStudy): Advice | null {
  // Its copies are one copy.
  if (withoutChance) return null;
  const [one, last] = [bestOfK[0], bestOfK.at(-1)];
  if (one === undefined || last === undefined || last.k < 2) return null;
  const gain = last.mean - one.mean;
  const found = `The best of ${last.k} copies is paid ${shown(last.mean)}, one copy ${shown(one.mean)}.`;
  // What a rung of a ladder must be apart, too: less is noise that no training finds.
  if (gain >= 0.05) return { topic: 'best of k', weight: 'good', found, todo: null };
  const todo =
    one.mean > 0.9
      ? `there is little left to learn for ${name}: take harder rows`
      : `trying again does not find better answers, so there is nothing for training to make more of: let ${name} vary more (temperature), teach it the tools by prompt, or play more copies`;
  return { topic: 'best of k', weight: 'look', found, todo };
}

function adviceOnLevels({ levels }: SubjectStudy): Advice | null {
  const [lowest, highest] = [levels[0], levels.at(-1)];
  if (lowest === undefined || highest === undefined) return null;
  if (levels.length === 1) {
    const found = `Every rollout is paid ${shown(lowest.score)}.`;
    return {
      topic: 'levels',
      weight: 'bad',
      found,
      todo: 'a reward that never differs teaches nothing: look at the grader',
    };
  }
  if (levels.length > 2)
    return { topic: 'levels', weight: 'good', found: `The score has ${levels.length} levels.`, todo: null };
  return {
    topic: 'levels',
    weight: 'look',
    found: `The score has two levels, ${shown(lowest.score)} and ${shown(highest.score)}.`,
    todo: 'yes or no: a group that is all wrong teaches nothing however near it was; partial credit for what is surely a step on the way, or larger groups',
  };
}

function adviceOnBaseline({ name, mean, deviation }: SubjectStudy): Advice | null {
  if (mean === null || deviation === null) return null;
  const found = `${name} is paid ${shown(mean)} on the mean, ±${shown(deviation)}.`;
  const advice = (weight: Advice['weight'], todo: string | null): Advice => ({
    topic: 'baseline',
    weight,
    found,
    todo,
  });
  if (mean <= 0.01)
    return advice(
      'bad',
      'nothing is ever right, so nothing can be made more of: easier rows, or partial credit',
    );
  if (mean >= 0.95)
    return advice(
      'look',
      'too good to be true, or learnt already: play “corral attack”, and read some rollouts',
    );
  return advice('good', null);
}

function adviceOnDiscards({ discarded, rollouts }: SubjectStudy, { burst }: Looked): Advice {
  if (discarded.rollouts === 0)
    return { topic: 'discards', weight: 'good', found: 'No rollout was discarded.', todo: null };
  const share = discarded.rollouts / rollouts;
  const copies = burst?.assumed.copiesPerItem ?? 8;
  const hurt = 1 - (1 - share) ** copies;
  const [worst] = discarded.causes;
  const said = worst === undefined ? '' : ` (most: ${worst.code} at ${worst.at}, blame: ${worst.blame})`;
  return {
    topic: 'discards',
    weight: 'bad',
    found: `${counted(discarded.rollouts, 'rollout')} of ${rollouts} ${discarded.rollouts === 1 ? 'has' : 'have'} no score${said}; no zero was made of it.`,
    todo: `fix that first: at this rate ${percent(hurt)} of groups of ${copies} lose a member`,
  };
}

function adviceOnCalls({ traces }: SubjectStudy): Advice | null {
  const { perRollout, p50, p95, max } = traces;
  if (perRollout === null || p50 === null || p95 === null || max === null) return null;
  const found = `${perRollout.toFixed(1)} calls a rollout: half make ${p50} or fewer, 95 % ${p95} or fewer, the longest ${max}.`;
  if (max === 0)
    return {
      topic: 'calls',
      weight: 'look',
      found,
      todo: 'no rollout calls a tool: is the answer in the prompt?',
    };
  // A tail of three times the median and more is what trained models lose first.
  if (p95 < 3 * Math.max(1, p50)) return { topic: 'calls', weight: 'good', found, todo: null };
  const todo = `a long tail: take a little off beyond ${Math.max(1, p50) * 2} calls (grader kind penalty), or bound tool_calls at ${p95}`;
  return { topic: 'calls', weight: 'look', found, todo };
}

/** A hundred such calls fill the context of many models. */
const manyTokens = 2_000;

function adviceOnOutputs({ traces }: SubjectStudy): Advice | null {
  const told = traces.tools.filter(({ tokens, bytes: size }) => (tokens ?? size) !== null);
  const [largest] = told.toSorted((a, b) => sizeOf(b) - sizeOf(a));
  if (largest === undefined) return null;
  const { tool, tokens, bytes: size } = largest;
  const tells =
    tokens === null
      ? `${bytes(Math.round(size?.mean ?? 0))} on the mean, ${bytes(size?.p95 ?? 0)} at P95 (tokens are not told)`
      : `${Math.round(tokens.mean)} tokens on the mean, ${tokens.p95} at P95`;
  const found = `The largest outputs are those of ${tool}: ${tells}.`;
  const p95 = tokens?.p95 ?? (size?.p95 ?? 0) / 4;
  if (p95 <= manyTokens) return { topic: 'outputs', weight: 'good', found, todo: null };
  return {
    topic: 'outputs',
    weight: 'look',
    found,
    todo: `cut them (limits: output_bytes), or let ${tool} say less: context is what long rollouts run out of`,
  };
}

const sizeOf = ({ tokens, bytes: size }: SubjectStudy['traces']['tools'][number]): number =>
  tokens?.p95 ?? (size?.p95 ?? 0) / 4;

function adviceOnRepeats({ traces }: SubjectStudy): Advice | null {
  const { repeats, bigrams } = traces;
  if (repeats === null) return null;
  const share = repeats.repeated / repeats.calls;
  const [most] = bigrams;
  const habit =
    most === undefined ? '' : `; most often ${most.next} follows ${most.first} (${most.times} times)`;
  const found = `${repeats.repeated} of ${repeats.calls} calls repeat an earlier one of their rollout${habit}.`;
  if (share <= 0.1) return { topic: 'repeats', weight: 'good', found, todo: null };
  const todo =
    'a repeat tells nothing new: say in the tool’s output what to do when nothing was found, or take calls off the reward';
  return { topic: 'repeats', weight: 'look', found, todo };
}

function adviceOnLatency({ latency }: SubjectStudy): Advice | null {
  const { correlation, p95 } = latency;
  if (p95 === null) return null;
  const times = `95 % of the rollouts end within ${duration(p95 * 1000)}`;
  if (correlation === null) return { topic: 'latency', weight: 'good', found: `${times}.`, todo: null };
  // Adding nothing makes a zero of what is rounded to less than nothing.
  const together = (Math.round(correlation * 100) / 100 + 0).toFixed(2);
  const found = `${times}; reward and time go together by ${together} (−1 to 1).`;
  // Where the slow are paid better, a bound on time takes the good ones.
  if (correlation < 0.3) return { topic: 'latency', weight: 'good', found, todo: null };
  return {
    topic: 'latency',
    weight: 'look',
    found,
    todo: 'who takes longer is paid better: a short time limit would cut the good ones, and training will make rollouts longer',
  };
}

function adviceOnParts({ parts }: SubjectStudy): Advice | null {
  // The outermost is the score itself.
  const inner = parts.slice(1);
  if (inner.length === 0) return null;
  const constant = inner.filter((part) => part.constant);
  const found =
    constant.length === 0
      ? `What the grader is made of differs between rollouts (${inner.map(({ part }) => part).join(', ')}).`
      : `${constant.map(({ part, mean }) => `${part} (${shown(mean)})`).join(', ')}: the same in every rollout.`;
  if (constant.length === 0) return { topic: 'parts', weight: 'good', found, todo: null };
  return {
    topic: 'parts',
    weight: 'look',
    found,
    todo: 'a part that never differs teaches nothing: make it ask for more, or give its weight to others',
  };
}

/** In the order of the report. */
export const subjectRules: readonly ((subject: SubjectStudy, study: Looked) => Advice | null)[] = [
  adviceOnSpread,
  adviceOnBest,
  adviceOnLevels,
  adviceOnBaseline,
  adviceOnDiscards,
  adviceOnCalls,
  adviceOnOutputs,
  adviceOnRepeats,
  adviceOnLatency,
  adviceOnParts,
];
