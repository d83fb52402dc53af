import type { Random } from '#src/ports/random.ts';
import { shuffled } from '../seeded-random.ts';
import type { RolloutPlan } from '../trainer/rollout.ts';

/** These go on for several steps after their first answer, so a kill lands in the middle of the work. */
const longPlays = new Set(['expert', 'over-caller']);

/** Which rollouts lose their sandbox: one of each task before a second of any, long plays before short ones. */
export function chooseVictims(
  plans: readonly RolloutPlan[],
  count: number,
  random: Random,
): readonly RolloutPlan[] {
  const mixed = shuffled(plans, random);
  const longFirst = [...mixed.filter(isLong), ...mixed.filter((plan) => !isLong(plan))];
  const places = new Map<string, number>();
  const inTurns = longFirst.map((plan) => {
    const turn = places.get(plan.item.id) ?? 0;
    places.set(plan.item.id, turn + 1);
    return { plan, turn };
  });
  return inTurns
    .toSorted((a, b) => a.turn - b.turn)
    .slice(0, count)
    .map(({ plan }) => plan);
}

const isLong = (plan: RolloutPlan): boolean => longPlays.has(plan.policy.name);
