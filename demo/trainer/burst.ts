import { itemOf, type Task } from '../tasks/load-tasks.ts';
import { policyOf } from '../policies/roster.ts';
import { seededRandom } from '../seeded-random.ts';
import { playRollout, type RolloutPlan, type TrainerWorld } from './rollout.ts';
import type { RolloutRecord } from './record.ts';

/** Every copy of every task, each with chance of its own: the same seed plans the same rollouts. */
export function planBurst(tasks: readonly Task[], copies: number, seed: string): readonly RolloutPlan[] {
  return tasks.flatMap((task) =>
    Array.from({ length: copies }, (_, copy) => ({
      rollout: `trace_${task.id}_${copy + 1}`,
      item: itemOf(task),
      copy,
      policy: policyOf(copy),
      random: seededRandom(`${seed}/${task.id}/${copy}`),
    })),
  );
}

/** Starts all rollouts in the same instant and waits for the last one. */
export function playBurst(
  plans: readonly RolloutPlan[],
  world: TrainerWorld,
): Promise<readonly RolloutRecord[]> {
  return Promise.all(plans.map((plan) => playRollout(plan, world)));
}
