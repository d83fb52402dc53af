import type { DemandedAmounts } from '../model/amounts.ts';
import type { Environment, TemplateBody } from '../model/environment.ts';
import {
  heaviestOf,
  placesForGraders,
  shareOfGraders,
  shareOfPolicies,
  weightOf,
} from '../model/pool-places.ts';
import type { UnmetRequirement } from '../model/requirements.ts';
import { raiseAmounts } from './raise-amounts.ts';

type Pooled = Pick<Environment, 'name' | 'template' | 'graderTemplate' | 'ceilings' | 'pool'>;

/**
 * Why a task with these amounts has no room in the pool of its environment, even if it is the only one; null: it has. Such a task
 * could start only while nothing else of the environment is there, and then keep all others waiting.
 */
export function aboveItsPool(environment: Pooled, amounts: DemandedAmounts): UnmetRequirement | null {
  const { name, template, pool, ceilings } = environment;
  const raised = raiseAmounts<TemplateBody>(template, amounts);
  if (raised === template) return null;
  const most = ceilings?.poolMax ?? pool.max;
  // A pool that is stopped keeps all its rollouts waiting.
  if (most === 0) return null;
  const share = shareOfGraders(pool, most);
  const weight = weightOf(template, raised);
  const forGraders = placesForGraders(environment, raised, share);
  if (weight + forGraders <= Math.max(1, shareOfPolicies(pool, most))) return null;
  const requirement = heaviestOf(template, raised);
  const graders = forGraders > 0 ? `, and its grader needs ${forGraders} more than graders have` : '';
  const shared = share > 0 ? `, ${share} of them for graders` : '';
  return {
    requirement,
    wanted: `the task demands as much ${requirement} as ${weight} sandboxes of environment ${name} have${graders}`,
    given: `pool.max of ${name} is ${most} sandboxes${shared}${ceilings?.poolMax === undefined ? '' : ', as the operator has set it'}`,
    fix: `lower the task's demand, raise ${ceilings?.poolMax === undefined ? 'pool.max' : "the operator's size of the pool"}, or raise sandbox.${requirement} of ${name}`,
  };
}

/** By how many times a task may raise all amounts of the environment and still have room in its pool. */
export function largestShare(environment: Pooled): number {
  const { template, pool, ceilings } = environment;
  const hasRoom = (times: number) => {
    const amounts = {
      memoryBytes: times * template.memory.limitBytes,
      cpuMilli: times * template.cpu.limitMilli,
      diskBytes: times * template.diskBytes,
    };
    return aboveItsPool(environment, amounts) === null;
  };
  let times = Math.max(1, ceilings?.poolMax ?? pool.max);
  while (times > 1 && !hasRoom(times)) times -= 1;
  return times;
}
