import { type Amounts, type Ceilings, type DemandedAmounts, mostDemandable } from '../model/amounts.ts';
import type { Environment, TemplateBody } from '../model/environment.ts';
import type { Item } from '../model/grader.ts';
import type { UnmetRequirement } from '../model/requirements.ts';
import { type AmountKind, amountsOf, shmOf, showBytes, showMostBytes } from './amount-kinds.ts';
import { raiseAmounts } from './raise-amounts.ts';
import { readDemands } from './row-demands.ts';

/**
 * What a task demands raises the amounts of its sandbox, up to what the operator allows and one machine has. It is decided once,
 * when the rollout is opened; the rollout's record keeps the result, so that all processes make the same template of it.
 */

type Demanding = Pick<Environment, 'name' | 'template' | 'graderTemplate' | 'demands' | 'ceilings'>;

export type DecidedAmounts = {
  /** What is demanded and can be given, rounded up to one of few sizes. */
  readonly amounts: DemandedAmounts;
  readonly unmet: readonly UnmetRequirement[];
};

/**
 * Decides what a task gets of what its row and its trainer (`required`) demand. The larger demand of the two counts. Throws what
 * reading the row throws.
 */
export function decideAmounts(
  environment: Demanding,
  item: Item | null,
  required: Amounts = {},
): DecidedAmounts {
  const { template, ceilings } = environment;
  const demanded = withRoomForShm(template, larger(readDemands(environment, item), required));
  const unmet: UnmetRequirement[] = [];
  const amounts = amountsOf((kind) => {
    const wanted = demanded[kind.name];
    if (wanted === undefined) return undefined;
    const given = kind.given(template);
    const bound = wanted <= given ? within(given) : lowestCeiling(kind, ceilings);
    if (wanted <= bound.most) return Math.min(roundUp(wanted, kind.unit), bound.most);
    unmet.push(aboveCeiling(environment.name, kind, wanted, bound));
    return undefined;
  });
  const isApart = ceilings?.machine.diskIsMemory === true && hasRoom(demanded);
  return unmet.length > 0 || !isApart ? { amounts, unmet } : besideDisk(environment, demanded, amounts);
}

/** A demand of 0 does not count. */
const larger = (one: Amounts, other: Amounts): Amounts =>
  amountsOf(({ name }) => Math.max(one[name] ?? 0, other[name] ?? 0) || undefined);

/**
 * Shared memory counts within the memory of a sandbox, as in a container. A task that demands only the former must be able to fill
 * it.
 */
function withRoomForShm(template: TemplateBody, demanded: Amounts): Amounts {
  const { shmBytes = 0, memoryBytes = template.memory.limitBytes + shmBytes } = demanded;
  return shmBytes <= shmOf(template)
    ? demanded
    : { ...demanded, memoryBytes: Math.max(memoryBytes, shmBytes) };
}

const hasRoom = ({ memoryBytes, diskBytes }: Amounts): boolean =>
  memoryBytes !== undefined || diskBytes !== undefined;

/**
 * On a machine where files take memory, a task gets both in full, or files would take the memory that it demands. If the rounded
 * amounts are more than the machine has, it gets what it demands to the byte. If that is, too, but the environment has the disk, files
 * stay within the memory, as its author has it.
 */
function besideDisk(environment: Demanding, demanded: Amounts, rounded: Amounts): DecidedAmounts {
  const most = environment.ceilings?.machine.memoryBytes ?? Infinity;
  for (const amounts of [rounded, { ...rounded, ...demanded }]) {
    if (mostTogether(environment, amounts) <= most)
      return { amounts: { ...amounts, diskIsMemory: true }, unmet: [] };
  }
  const { diskBytes = 0 } = demanded;
  if (diskBytes <= environment.template.diskBytes) return { amounts: rounded, unmet: [] };
  return { amounts: {}, unmet: [aboveMachine(mostTogether(environment, demanded), most)] };
}

/** Memory and disk of the larger of both sandboxes, the policy's and the grader's. */
function mostTogether({ template, graderTemplate }: Demanding, amounts: Amounts): number {
  const sums = [template, graderTemplate ?? template].map((each) => {
    const { memory, diskBytes } = raiseAmounts<TemplateBody>(each, amounts);
    return memory.limitBytes + diskBytes;
  });
  return Math.max(...sums);
}

function aboveMachine(together: number, most: number): UnmetRequirement {
  return {
    requirement: 'disk',
    wanted: `the task demands ${showBytes(together)} of memory and disk together`,
    given: `files take memory on this machine, which has ${showMostBytes(most)}`,
    fix: "lower the task's demands, or use a larger machine or a cluster",
  };
}

/** Powers of two and half way between them: few sizes, so that tasks with similar demands share sandboxes. */
function roundUp(amount: number, unit: number): number {
  let size = unit;
  while (size < amount) {
    if (1.5 * size >= amount) return 1.5 * size;
    size *= 2;
  }
  return size;
}

type Bound = { readonly most: number; readonly from: keyof Ceilings | 'all' };

const within = (most: number): Bound => ({ most, from: 'all' });

function lowestCeiling({ name }: AmountKind, ceilings: Ceilings | undefined): Bound {
  const bounds: readonly Bound[] = [
    within(mostDemandable[name]),
    { most: ceilings?.operator[name] ?? Infinity, from: 'operator' },
    { most: ceilings?.machine[name] ?? Infinity, from: 'machine' },
  ];
  return bounds.reduce((lowest, one) => (one.most < lowest.most ? one : lowest));
}

function aboveCeiling(
  environment: string,
  { requirement, inWords, show, showMost }: AmountKind,
  wanted: number,
  { most, from }: Bound,
): UnmetRequirement {
  const lower = `lower the task's demand to ${showMost(most)}`;
  const demanded = { requirement, wanted: `the task demands ${show(wanted)} of ${inWords}` };
  switch (from) {
    case 'operator':
      return {
        ...demanded,
        given: `the operator's ceiling for environment ${environment} is ${showMost(most)}`,
        fix: `${lower}, or raise ceilings.${requirement} in the operator's policy`,
      };
    case 'machine':
      return {
        ...demanded,
        given: `one machine has ${showMost(most)}`,
        fix: `${lower}, or use a larger machine`,
      };
    case 'all':
      return { ...demanded, given: `no sandbox has more than ${showMost(most)}`, fix: lower };
  }
}
