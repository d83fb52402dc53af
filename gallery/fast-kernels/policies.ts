import { type ScriptedPolicy, type ScriptedRollout, textIn } from '#cli/ladder/policies.ts';
import { cheats } from './cheats.ts';
import { kernels, type Skill } from './kernels.ts';

/* What is played on fast-kernels: kernels of growing skill, and ways around the work. */

const kernelOf = (rollout: ScriptedRollout, skill: Skill): string =>
  kernels[textIn(rollout, 'operation')]?.[skill] ?? '';

async function hands(rollout: ScriptedRollout, source: string): Promise<string> {
  await rollout.call('write_file', { path: 'kernel.c', content: source });
  return 'kernel.c is written.';
}

/** A model forgets where a row ends in one of three tries. */
const forgotten = 3;

const cheatPolicies = Object.entries(cheats).map(([name, sourceOf]): [string, ScriptedPolicy] => [
  name,
  (rollout) => hands(rollout, sourceOf(textIn(rollout, 'reference'), kernelOf(rollout, 'expert'))),
]);

export const policies: Readonly<Record<string, ScriptedPolicy>> = {
  hoists: (rollout) => {
    const source = kernelOf(rollout, 'hoisted');
    return hands(
      rollout,
      rollout.copy % forgotten === 0 ? source.replace('c < cols', 'c < cols - 1') : source,
    );
  },
  tunes: async (rollout) => {
    await hands(rollout, kernelOf(rollout, 'hoisted'));
    await rollout.call('check_kernel', {});
    await hands(rollout, kernelOf(rollout, 'tuned'));
    return rollout.call('check_kernel', {});
  },
  expert: (rollout) => hands(rollout, kernelOf(rollout, 'expert')),
  ...Object.fromEntries(cheatPolicies),
};
