import type { Blame, FailureCode } from '#src/failure/codes.ts';
import { kindOfPlace, placesOf, verbOf } from './traits.ts';

/** One call of a rollout, as findings need it. */
export type FoundCall = {
  readonly tool: string;
  /** The beginning of its arguments; null if no process logged it. */
  readonly arguments: string | null;
  readonly blame: Blame | null;
};

export type FoundLoss = {
  readonly code: FailureCode;
  readonly blame: Blame;
  readonly cause: string | null;
  readonly suspected: boolean;
  readonly node: string | null;
  /** Of a judge that scored a canary wrongly: when it was last right. */
  readonly judgeRightAtMs?: number;
};

/** One rollout of a run, as findings need it. */
export type FoundRollout = {
  readonly id: string;
  /** Null: its item is not known, and its group is its whole step. */
  readonly item: string | null;
  readonly openedAtMs: number;
  readonly endedAtMs: number | null;
  /** Null if it was not scored. */
  readonly score: number | null;
  readonly loss: FoundLoss | null;
  readonly calls: readonly FoundCall[];
  readonly parts: readonly { readonly part: string; readonly score: number | null }[];
};

/** A rollout with its step, and what its calls show. */
export type SteppedRollout = FoundRollout & Stepped;

export type Stepped = {
  readonly step: number;
  /** Rollouts of one item in one step. */
  readonly group: string;
  readonly verbs: readonly string[];
  /** Places that it named, and pairs of verbs that followed each other. */
  readonly traits: readonly string[];
};

/** A rollout that opens so long after the last one begins another step, also while a straggler runs. */
const stepGapMs = 20_000;

/**
 * Bursts in place of steps, because an event names none: a rollout that opens when none of its run is open, or 20 s after the last
 * opening, begins another.
 */
export function stepped<Rollout extends FoundRollout>(
  rollouts: readonly Rollout[],
): readonly (Rollout & Stepped)[] {
  const inOrder = rollouts.toSorted((one, other) => one.openedAtMs - other.openedAtMs);
  let [step, lastOpenMs, busyUntilMs] = [-1, Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY];
  return inOrder.map((rollout) => {
    const { openedAtMs, endedAtMs, item } = rollout;
    if (openedAtMs > busyUntilMs || openedAtMs - lastOpenMs > stepGapMs) step += 1;
    lastOpenMs = openedAtMs;
    busyUntilMs = Math.max(busyUntilMs, endedAtMs ?? openedAtMs);
    const placed: Stepped = { step, group: `${step} ${item ?? ''}`, ...shownBy(rollout) };
    return Object.assign(placed, rollout);
  });
}

type Shown = Pick<Stepped, 'verbs' | 'traits'>;

/** A run is looked at again and again while it goes on, and few of its rollouts have changed since. */
const known = new WeakMap<FoundRollout, Shown>();

function shownBy(rollout: FoundRollout): Shown {
  const shown = known.get(rollout) ?? lookAt(rollout);
  known.set(rollout, shown);
  return shown;
}

function lookAt({ calls }: FoundRollout): Shown {
  const verbs = calls.map(({ tool, arguments: asked }) => verbOf(tool, asked ?? ''));
  const places = calls.flatMap(({ arguments: asked }) => (asked === null ? [] : placesOf(asked)));
  const pairs = verbs.slice(1).map((verb, index) => `${verbs[index]} → ${verb}`);
  return { verbs, traits: [...new Set([...places, ...pairs])] };
}

/** What a trait is: a pair of verbs, or the kind of its place. */
export const kindOfTrait = (trait: string): ReturnType<typeof kindOfPlace> | 'verbs' =>
  trait.includes(' → ') ? 'verbs' : kindOfPlace(trait);

/** The first quarter of the steps, rounded down, and the last third, rounded up. */
export function endsOf(rollouts: readonly SteppedRollout[]): {
  readonly steps: number;
  readonly isFirst: (step: number) => boolean;
  readonly isLast: (step: number) => boolean;
} {
  const steps = (rollouts.at(-1)?.step ?? -1) + 1;
  const [first, last] = [Math.max(1, Math.floor(steps / 4)), Math.ceil(steps / 3)];
  return { steps, isFirst: (step) => step < first, isLast: (step) => step >= steps - last };
}

export function median(numbers: readonly number[]): number {
  return quantile(numbers, 0.5);
}

/** 0 of no numbers. */
export function quantile(numbers: readonly number[], share: number): number {
  const sorted = numbers.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
}

export const meanOf = (numbers: readonly number[]): number =>
  numbers.length === 0 ? 0 : numbers.reduce((total, each) => total + each, 0) / numbers.length;
