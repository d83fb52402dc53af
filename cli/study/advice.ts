import { duration } from '../print/amounts.ts';
import { counted, enoughSpread, percent, shown, subjectRules } from './advice-on-subject.ts';
import type { Advice, Looked } from './found.ts';
import { docsPage } from '#src/platform/docs.ts';

/*
 * What a person should do about it, one entry for each thing that was looked at: what was found, and what follows. Bounds are
 * where public runs went wrong or well, and are next to their sentences.
 */

/** In the order of the report. */
export function adviceOn(study: Looked): readonly Advice[] {
  const [first] = study.subjects;
  const ofFirst = first === undefined ? [] : subjectRules.map((rule) => rule(first, study));
  return [...ofFirst, ...studyRules.map((rule) => rule(study))].filter((each) => each !== null);
}

function adviceOnTogether({ together }: Looked): Advice | null {
  if (together === null || together.shares.spread === null) return null;
  const { spread } = together.shares;
  const found = `Across ${together.names.join(', ')}, ${percent(spread)} of the items have spread.`;
  const good = spread >= enoughSpread;
  const todo = good
    ? null
    : 'skill makes no difference on the rest: they are too easy, too hard, or their grader does not see it';
  return { topic: 'together', weight: good ? 'good' : 'look', found, todo };
}

/** Who is studied may be below it and another policy above; then the task still pays for what is no skill. */
function adviceOnCeiling(study: Looked): Advice | null {
  const [ceiling] = study.ceilings.toSorted((a, b) => b.mean - a.mean);
  if (ceiling === undefined) return null;
  const told = study.subjects.flatMap(({ name, mean }) => (mean === null ? [] : [{ name, mean }]));
  const above = told.filter(({ mean }) => mean > ceiling.mean).map(({ name }) => name);
  const found = `The ceiling is ${shown(ceiling.mean)}, the score of ${ceiling.name}: people do not agree more than that with each other.`;
  if (above.length === 0) return { topic: 'ceiling', weight: 'good', found, todo: null };
  const todo = `${above.join(' and ')} ${above.length === 1 ? 'is' : 'are'} paid more: above that line a policy learns the habits of the person who wrote the answers, so end a run there, or let several people agree on the answers`;
  return { topic: 'ceiling', weight: 'look', found, todo };
}

function adviceOnDuplicates({ dataset }: Looked): Advice | null {
  if (dataset === null) return null;
  const { rows, nearDuplicates, pairs } = dataset;
  const [pair] = pairs;
  if (pair === undefined)
    return {
      topic: 'duplicates',
      weight: 'good',
      found: `No two of ${counted(rows, 'row')} are nearly the same.`,
      todo: null,
    };
  const share = nearDuplicates / rows;
  const found = `${nearDuplicates} of ${counted(rows, 'row')} (${percent(share)}) are nearly the same as another, for instance ${pair.one} and ${pair.other}.`;
  return {
    topic: 'duplicates',
    weight: share > 0.05 ? 'bad' : 'look',
    found,
    todo: 'take them out: they weigh double in each epoch, and a split puts one on each side',
  };
}

function adviceOnOverlap({ dataset }: Looked): Advice | null {
  if (dataset === null) return null;
  const { overlap } = dataset;
  if (overlap === null)
    return {
      topic: 'overlap',
      weight: 'look',
      found: 'There are no rows for evaluation.',
      todo: 'keep some apart, by document or repository, and name them with --eval: the reward on training rows says what was learnt by heart, too',
    };
  const { evalRows, alike, pairs, shared, origins } = overlap;
  const [pair] = pairs;
  const said = [
    ...(pair === undefined
      ? []
      : [
          `${alike} of ${counted(evalRows, 'row')} for evaluation are nearly one of training (${pair.other}, ${pair.one})`,
        ]),
    ...shared.map(
      ({ by, eval: part, examples }) =>
        `${part.rows} of ${part.of} for evaluation share their ${by} with training (${examples[0] ?? ''})`,
    ),
  ];
  if (said.length > 0) {
    const todo = 'split by where rows come from, or the evaluation measures memory';
    return { topic: 'overlap', weight: 'bad', found: `${said.join('; ')}.`, todo };
  }
  const nowhere = origins.length === 0;
  const found = `Train and eval share no text${nowhere ? '' : ` and no ${origins.join(', no ')}`}.`;
  const todo = nowhere ? 'say by which field rows belong together (dataset: disjoint, or --group)' : null;
  return { topic: 'overlap', weight: nowhere ? 'look' : 'good', found, todo };
}

function adviceOnAgainst({ against }: Looked): Advice | null {
  if (against === null) return null;
  const { before, after, quadrants } = against;
  if (quadrants.items === 0)
    return {
      topic: 'against',
      weight: 'look',
      found: `${before} and ${after} have no item in common.`,
      todo: 'compare rollouts of the same rows',
    };
  const { better, equal, worse } = quadrants.counts;
  const all = (turn: typeof better) => turn.fewer + turn.same + turn.more;
  const found = `From ${before} to ${after}: ${all(better)} items better (${better.fewer} with fewer calls), ${all(equal)} equal (${equal.fewer} with fewer), ${all(worse)} worse (${worse.more} with more calls).`;
  if (all(worse) <= all(better)) return { topic: 'against', weight: 'good', found, todo: null };
  return {
    topic: 'against',
    weight: 'look',
    found,
    todo: `${after} loses more than it wins: read rollouts of the items that got worse`,
  };
}

function adviceOnBurst({ burst }: Looked): Advice | null {
  if (burst === null) return null;
  const { assumed, callsPerStep, callsPerSecond, worstCallsPerSecond } = burst;
  const found = `A step of ${assumed.rolloutsPerStep} rollouts opens ${assumed.rolloutsPerStep} sandboxes at once and makes ${Math.round(callsPerStep).toLocaleString('en-GB')} calls, ${Math.round(callsPerSecond)} a second and some ${Math.round(worstCallsPerSecond)} in the worst second (assumed: ${assumed.thinkingS.toFixed(0)} s of thinking before each).`;
  return {
    topic: 'burst',
    weight: 'good',
    found,
    todo: `have ${assumed.rolloutsPerStep} sandboxes (pool: max), some of them warm, and see ${docsPage('capacity.md')}`,
  };
}

function adviceOnCost({ burst }: Looked): Advice | null {
  if (burst === null) return null;
  const { assumed, rolloutS, sandboxHoursPerStep, sandboxHours, stepsPerEpoch } = burst;
  const found = `A rollout takes ${duration(rolloutS * 1000)}, a step ${sandboxHoursPerStep.toFixed(1)} sandbox hours, ${assumed.steps} steps ${sandboxHours.toFixed(0)}; an epoch of ${assumed.copiesPerItem} copies is ${counted(stepsPerEpoch, 'step')}.`;
  return { topic: 'cost', weight: 'good', found, todo: null };
}

const studyRules: readonly ((study: Looked) => Advice | null)[] = [
  adviceOnTogether,
  adviceOnCeiling,
  adviceOnDuplicates,
  adviceOnOverlap,
  adviceOnAgainst,
  adviceOnBurst,
  adviceOnCost,
];
