import { seededRandom } from '#demo/seeded-random.ts';
import type { Random } from '#src/ports/random.ts';
import { arrivalMs, groupSizes } from '../load-model/bursts.ts';
import { happens } from '../load-model/distributions.ts';
import { type CallPlan, drawRollout, longestMs, type StepPlan } from '../load-model/rollouts.ts';
import type { Mischief, Work } from '../trainer/evidence.ts';
import type { Script } from '../trainer/play-rollout.ts';
import type { LoadOptions } from './options.ts';

export type BurstRollout = {
  readonly script: Script;
  readonly afterMs: number;
  /** Every request opens its own connection. */
  readonly opensAnew: boolean;
  readonly isRight: boolean;
};

export type BurstShape = Pick<
  LoadOptions,
  | 'seed'
  | 'rollouts'
  | 'groups'
  | 'calls'
  | 'think'
  | 'arrival'
  | 'newConnections'
  | 'speed'
  | 'item'
  | 'answer'
  | 'arguments'
>;

/**
 * What policies do wrong without harming anybody's machine: failures of the model that only look like ours. They must come
 * back as answers. Whoever plays at a fleet that others use kills, fills and exhausts nothing.
 */
const harmless = [
  'looks_out_of_memory',
  'ends_by_a_signal',
  'runs_what_is_not_there',
  'prints_no_text',
] as const satisfies readonly Mischief[];

/** About once in every rollout. */
const harmlessShare = 0.03;

/** Of one call; the load model's few without end would only wait for their environment's timeout. */
const mostOutputBytes = 64 * 1024 ** 2;

/** As patient as a platform, which waits ten minutes and repeats under the same ids. */
const client = { timeoutMs: 600_000, jitter: true, freshIds: false } as const;

/** One burst of the load model. The same seed, number and shape plan the same; rollouts given up early are not planned. */
export function planBurst(wave: number, shape: BurstShape): readonly BurstRollout[] {
  const random = seededRandom(`${shape.seed}/burst ${wave}`);
  return groupSizes(shape.rollouts, shape.groups).flatMap((copies, group) =>
    Array.from({ length: copies }, (_, copy) => {
      const isRight = happens(random, 0.5);
      const task = `load-${wave}-${group + 1}`;
      const { steps } = drawRollout(random);
      return {
        script: scriptOf(shape, `trace_${wave}_${group + 1}_${copy + 1}`, task, isRight, [
          ...played(random, shape, steps),
          readingBack,
        ]),
        afterMs: arrivalMs(random, shape.arrival) / shape.speed,
        opensAnew: happens(random, shape.newConnections),
        isRight,
      };
    }),
  );
}

/** One rollout for each answer, alone: what they are scored before any load is what they must be scored under it. */
export function planTrials(shape: BurstShape): { readonly right: Script; readonly wrong: Script } {
  const trial = (name: string, isRight: boolean) =>
    scriptOf(shape, `trial_${name}`, 'load-trial', isRight, [readingBack, readingBack]);
  return { right: trial('right', true), wrong: trial('wrong', false) };
}

type Step = Script['steps'][number];

const noWork: Work = { sleepMs: 0, outputBytes: 0, mischief: null };

/** The last call of every rollout: what it prints has the evidence of all the others. */
const readingBack: Step = { thinkMs: 0, calls: [noWork] };

function scriptOf(
  { item, answer, arguments: fixed }: BurstShape,
  rollout: string,
  task: string,
  isRight: boolean,
  steps: readonly Step[],
): Script {
  return {
    rollout,
    item: { ...item, id: task },
    steps,
    cancelled: false,
    answer: isRight ? answer : '',
    ...(fixed === undefined ? {} : { fixedArguments: fixed }),
    client,
  };
}

function played(random: Random, shape: BurstShape, plans: readonly StepPlan[]): readonly Step[] {
  const steps: Step[] = [];
  // One is left for the reading back.
  let left = shape.calls - 1;
  for (const { thinkMs, calls } of plans) {
    if (left === 0) break;
    // The first answer's time is the fleet's: its commands take none.
    const isFirst = steps.length === 0;
    const works = calls.slice(0, left).map((call) => (isFirst ? noWork : workOf(random, shape.speed, call)));
    const pauseMs = shape.think === undefined ? thinkMs / shape.speed : shape.think * 1000;
    steps.push({ thinkMs: isFirst ? 0 : pauseMs, calls: works });
    left -= works.length;
  }
  return steps;
}

/** Mischief is at once: the shorter such a call, the rarer is it cut off by a failure that is not its own. */
function workOf(random: Random, speed: number, { durationMs, outputBytes }: CallPlan): Work {
  const bytes = Math.min(outputBytes, mostOutputBytes);
  if (!happens(random, harmlessShare))
    return { sleepMs: Math.min(durationMs, longestMs) / speed, outputBytes: bytes, mischief: null };
  const mischief = harmless[Math.floor(random.next() * harmless.length)] ?? harmless[0];
  return { sleepMs: 0, outputBytes: 0, mischief };
}
