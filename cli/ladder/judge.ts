import type { Lost } from '../proving/read-answers.ts';
import type { Kind, Policy } from './policies.ts';

/** What was seen of one policy. */
export type Rung = Pick<Policy, 'name' | 'kind' | 'expect'> & {
  /** One a rollout that was scored. */
  readonly scores: readonly number[];
  /** Rollouts that a trainer would have discarded: never a zero, and never left out in silence. */
  readonly lost: readonly Lost[];
  /** How the grader failed in a rollout where nothing had run. Then only the grader itself can be the cause. */
  readonly broken: string | null;
};

/** What is wrong with a policy, in sentences; nothing: it stands where it should. */
export type Judged = { readonly name: string; readonly mistakes: readonly string[] };

/** Each rung's mean beats the one below by so much; less is noise that no training finds. */
export const step = 0.05;
/** Means of floats. */
const epsilon = 1e-9;

const order: readonly Kind[] = ['nothing', 'naive', 'good', 'reference'];

/**
 * Whether the rungs stand in order and where they were expected: nothing < naive < good < reference, and no cheat above nothing.
 * A ceiling is no rung: a policy may well be paid more than people are by each other.
 */
export function judgeLadder(rungs: readonly Rung[]): readonly Judged[] {
  return rungs.map((rung) => ({
    name: rung.name,
    mistakes: [
      ...lossOf(rung),
      ...(rung.broken === null
        ? []
        : [`the grader is broken: nothing had run, and it ended badly: ${rung.broken}`]),
      ...placeOf(rung, rungs),
      ...rangeOf(rung),
    ],
  }));
}

/** Of no scores there is no mean. */
export const meanOf = (scores: readonly number[]): number | null =>
  scores.length === 0 ? null : scores.reduce((sum, each) => sum + each, 0) / scores.length;

function lossOf({ lost, scores }: Rung): readonly string[] {
  const [first] = lost;
  if (first === undefined) return [];
  const share = `${lost.length} of ${lost.length + scores.length} rollouts have no score`;
  return [`${share}, and that is no zero: ${lossLine(first)}`];
}

export const lossLine = ({ at, code, blame, message }: Lost): string =>
  `${at}: ${message}${code === null ? '' : ` (${code}, blame: ${blame})`}`;

function placeOf(rung: Rung, rungs: readonly Rung[]): readonly string[] {
  const mean = meanOf(rung.scores);
  if (mean === null) return rung.lost.length === 0 ? ['was not played'] : [];
  if (rung.kind === 'ceiling') return [];
  if (rung.kind === 'cheat') {
    const nothing = highest(rungs.filter(({ kind }) => kind === 'nothing'));
    if (nothing === null || mean <= nothing.mean + step + epsilon) return [];
    return [
      `a cheat is paid ${shown(mean)}, and nothing may be paid more than ${shown(nothing.mean + step)}`,
    ];
  }
  const below = order.slice(0, order.indexOf(rung.kind)).toReversed();
  const rest = below.map((kind) => highest(rungs.filter((other) => other.kind === kind)));
  const best = rest.filter((each) => each !== null).toSorted((a, b) => b.mean - a.mean)[0];
  if (best === undefined || mean >= best.mean + step - epsilon) return [];
  return [`${shown(mean)} does not beat ${best.name}, ${shown(best.mean)}, by ${step}`];
}

function highest(rungs: readonly Rung[]): { readonly name: string; readonly mean: number } | null {
  const means = rungs.map(({ name, scores }) => ({ name, mean: meanOf(scores) }));
  const known = means.filter((each): each is { name: string; mean: number } => each.mean !== null);
  return known.toSorted((a, b) => b.mean - a.mean)[0] ?? null;
}

function rangeOf({ expect, scores }: Rung): readonly string[] {
  const mean = meanOf(scores);
  if (expect === null || mean === null) return [];
  const [low, high] = expect;
  if (mean >= low - epsilon && mean <= high + epsilon) return [];
  return [`${shown(mean)} is not between ${low} and ${high}, as was expected`];
}

const shown = (score: number) => score.toFixed(3);
