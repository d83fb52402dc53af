import { aboutRollouts, type Finding, percent } from './finding.ts';
import { meanOf, quantile, type SteppedRollout, endsOf } from './runs.ts';

/* What may be in order, and is worth a look: losses, long tails, mistakes, groups and graders that say nothing. */

/** Share of rollouts from which losses need a person now. */
const manyLosses = 0.02;

export function lossFindings(rollouts: readonly SteppedRollout[]): readonly Finding[] {
  const lost = rollouts.filter((one) => one.loss !== null && one.loss.blame === 'infrastructure');
  if (lost.length === 0) return [];
  const share = lost.length / rollouts.length;
  const suspected = lost.filter(({ loss }) => loss?.suspected === true).length;
  const discards: Finding = {
    kind: 'discards',
    weight: share >= manyLosses ? 'bad' : 'look',
    title: 'Infrastructure failures discarded rollouts',
    what: null,
    text: `${lost.length} of ${rollouts.length} (${percent(share)}): ${countedBy(lost, ({ loss }) => `${loss?.code}${loss?.cause == null ? '' : ` (${loss.cause})`}`)}. In ${suspected} of them a command is suspected.`,
    ...aboutRollouts(lost),
    size: share,
  };
  return [discards, ...oneNode(lost)];
}

const fewestOnNode = 3;
const mostOnNode = 0.6;

/** Only where losses name several nodes: on one machine all losses are its own. */
function oneNode(lost: readonly SteppedRollout[]): readonly Finding[] {
  const placed = lost.filter(({ loss }) => loss !== null && loss.node !== null);
  const byNode = [...Map.groupBy(placed, ({ loss }) => loss?.node ?? '')];
  const [worst] = byNode.toSorted(([, one], [, other]) => other.length - one.length);
  if (worst === undefined || byNode.length < 2) return [];
  const [node, own] = worst;
  const share = own.length / placed.length;
  if (own.length < fewestOnNode || share < mostOnNode) return [];
  return [
    {
      kind: 'one_node',
      weight: 'bad',
      title: 'Most losses are on one node',
      what: node,
      text: `${own.length} of ${placed.length} losses with a known node, over ${byNode.length} nodes.`,
      ...aboutRollouts(own),
      size: share,
    },
  ];
}

const longTail = 3;

export function tailFindings(rollouts: readonly SteppedRollout[]): readonly Finding[] {
  const calls = rollouts.map((one) => one.calls.length);
  const [half, most] = [quantile(calls, 0.5), quantile(calls, 0.95)];
  if (half === 0 || most < longTail * half) return [];
  return [
    {
      kind: 'tail',
      weight: 'look',
      title: 'A few rollouts make most calls',
      what: null,
      text: `One in twenty makes at least ${most} calls; half of all make at most ${half}.`,
      ...aboutRollouts(rollouts.filter((one) => one.calls.length >= most)),
      size: most / half,
    },
  ];
}

const manyMistakes = 0.1;

function mistakeShare(rollouts: readonly SteppedRollout[]): number {
  const calls = rollouts.flatMap((one) => one.calls);
  return calls.length === 0 ? 0 : calls.filter(({ blame }) => blame === 'model').length / calls.length;
}

export function mistakeFindings(rollouts: readonly SteppedRollout[]): readonly Finding[] {
  const { steps, isFirst, isLast } = endsOf(rollouts);
  const [first, last] = [isFirst, isLast].map((isIn) =>
    mistakeShare(rollouts.filter(({ step }) => isIn(step))),
  );
  if (steps < 2 || first === undefined || last === undefined || last < manyMistakes || last <= first)
    return [];
  return [
    {
      kind: 'mistakes',
      weight: 'look',
      title: 'Mistaken calls become more frequent',
      what: null,
      text: `${percent(last)} of the calls of the last third of the steps are the model's own mistakes, ${percent(first)} of the first quarter.`,
      ...aboutRollouts(
        rollouts.filter(({ step, calls }) => isLast(step) && calls.some(({ blame }) => blame === 'model')),
      ),
      size: last,
    },
  ];
}

const manyAlike = 0.5;

/** Groups in which all scores are equal teach nothing. Without items a step would be one group, which says nothing. */
export function spreadFindings(rollouts: readonly SteppedRollout[]): readonly Finding[] {
  const lastStep = rollouts.at(-1)?.step ?? 0;
  const scored = rollouts.filter((one) => one.step === lastStep && one.score !== null && one.item !== null);
  const groups = [...Map.groupBy(scored, ({ group }) => group).values()].filter((group) => group.length > 1);
  const alike = groups.filter((group) => group.every(({ score }) => score === group[0]?.score));
  if (groups.length === 0 || alike.length === 0) return [];
  const share = alike.length / groups.length;
  return [
    {
      kind: 'no_spread',
      weight: share > manyAlike ? 'bad' : 'look',
      title: 'Groups without a difference in reward',
      what: null,
      text: `In the last step all rollouts of ${alike.length} of ${groups.length} items had the same score, so nothing is learned from them.`,
      ...aboutRollouts(alike.flat()),
      size: share,
    },
  ];
}

const fewestScored = 8;

export function partFindings(rollouts: readonly SteppedRollout[]): readonly Finding[] {
  const parts = rollouts.flatMap((rollout) =>
    // Alone it is the whole score, whose spread another finding is about.
    rollout.parts.length < 2 ? [] : rollout.parts.map(({ part, score }) => ({ part, score, rollout })),
  );
  return [...Map.groupBy(parts, ({ part }) => part)].flatMap(([part, given]) => {
    const scores = given.flatMap(({ score }) => (score === null ? [] : [score]));
    if (scores.length < fewestScored || scores.some((score) => score !== scores[0])) return [];
    return [
      {
        kind: 'dead_part' as const,
        weight: 'look' as const,
        title: 'A part of the grader never moves',
        what: part,
        text: `It returned ${meanOf(scores)} in all ${scores.length} grades.`,
        ...aboutRollouts(given.map(({ rollout }) => rollout)),
        size: scores.length,
      },
    ];
  });
}

function countedBy(rollouts: readonly SteppedRollout[], nameOf: (one: SteppedRollout) => string): string {
  return [...Map.groupBy(rollouts, nameOf)]
    .toSorted(([, one], [, other]) => other.length - one.length)
    .map(([name, own]) => `${name} ${own.length}`)
    .join(', ');
}
