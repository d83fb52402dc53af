import type { Amounts, MachineAmounts } from '../model/amounts.ts';
import { type Environment, isOpenTemplate, type OpenTemplate, type Template } from '../model/environment.ts';
import { finite } from './amount-kinds.ts';
import type { OperatorPolicy } from './policy.ts';

/**
 * The environment as it may be used: images that rows name are held to the operator's list too, one by one, and amounts that tasks
 * demand to the ceilings and to what one machine has.
 */
export function permit(environment: Environment, policy: OperatorPolicy): Environment {
  const { ceilings: _anothers, template, graderTemplate, ...permitted } = environment;
  return {
    ...permitted,
    template: withPermitted(template, policy),
    ...(graderTemplate && { graderTemplate: withPermitted(graderTemplate, policy) }),
    ceilings: ceilingsOf(environment, policy),
  };
}

const withPermitted = (template: Template | OpenTemplate, { images }: OperatorPolicy) =>
  isOpenTemplate(template) ? { ...template, image: { ...template.image, permitted: images } } : template;

function ceilingsOf(
  { name }: Environment,
  { ceilings, machine, poolOverrides }: OperatorPolicy,
): NonNullable<Environment['ceilings']> {
  const { cpuMilli, memoryBytes, diskBytes, shmBytes } = ceilings;
  const poolMax = poolOverrides.get(name)?.max;
  return {
    operator: finite({ memoryBytes, cpuMilli, diskBytes, shmBytes }),
    machine,
    ...(poolMax !== undefined && { poolMax }),
  };
}

/** The same policy for sandboxes on this machine, which has `own`. */
export function onMachine(policy: OperatorPolicy, own: MachineAmounts): OperatorPolicy {
  const { machine } = policy;
  const { diskIsMemory, ...amounts } = own;
  const lower = Object.entries(amounts).map(([name, most]) => [
    name,
    Math.min(most, machine[name as keyof Amounts] ?? Infinity),
  ]);
  const joined = { ...machine, ...Object.fromEntries(lower) };
  return { ...policy, machine: diskIsMemory === true ? { ...joined, diskIsMemory } : joined };
}
