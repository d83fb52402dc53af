import {
  type Amounts,
  type Ceilings,
  type DemandedAmounts,
  type MachineAmounts,
  mostDemandable,
} from '../model/amounts.ts';
import type { Environment, TemplateBody } from '../model/environment.ts';
import type { Item } from '../model/grader.ts';
import type { UnmetRequirement } from '../model/requirements.ts';
import { type AmountKind, amountsOf, shmOf, showBytes, showMostBytes } from './amount-kinds.ts';
import { raiseAmounts } from './raise-amounts.ts';
import { aboveItsPool } from './pool-room.ts';
import { readDemands } from './row-demands.ts';

/**
 * What a task demands raises the amounts of its sandbox, up to what the operator allows and one machine has. It is decided once,
 * when the rollout is opened; the rollout's record keeps the result, so that all processes make the same template of it.
 */

type Demanding = Pick<Environment, 'name' | 'template' | 'graderTemplate' | 'demands' | 'ceilings' | 'pool'>;

export type DecidedAmounts = {
  /** What is demanded and can be given. */
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
    if (wanted <= given) return wanted;
    const bound = lowestCeiling(kind, given, ceilings);
    if (wanted <= bound.most) return wanted;
    unmet.push(aboveCeiling(environment.name, kind, wanted, bound));
    return undefined;
  });
  const isApart = ceilings?.machine.diskIsMemory === true && isRaised(environment, amounts);
  const decided = unmet.length > 0 || !isApart ? { amounts, unmet } : besideDisk(environment, amounts);
  return decided.unmet.length > 0 ? decided : withinPool(environment, decided.amounts);
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

/** What the environment has is given as its author wrote it, so that the task starts in a ready sandbox. */
const isRaised = (
  { template, graderTemplate }: Demanding,
  { memoryBytes = 0, diskBytes = 0 }: Amounts,
): boolean =>
  [template, graderTemplate ?? template].some(
    (each) => memoryBytes > each.memory.limitBytes || diskBytes > each.diskBytes,
  );

/**
 * On a machine where files take memory, a raised sandbox has both in full, or files would take the memory that its task demands. If the machine
 * does not have both, but the environment has the disk, files stay within the memory, as its author has it.
 */
function besideDisk(environment: Demanding, amounts: Amounts): DecidedAmounts {
  const most = environment.ceilings?.machine.memoryBytes ?? Infinity;
  const together = mostTogether(environment, amounts);
  if (together <= most) return { amounts: { ...amounts, diskIsMemory: true }, unmet: [] };
  const { diskBytes = 0 } = amounts;
  if (diskBytes <= environment.template.diskBytes) return { amounts, unmet: [] };
  return { amounts: {}, unmet: [aboveMachine(together, most)] };
}

/** Memory and disk of the larger of both sandboxes, the policy's and the grader's. */
function mostTogether({ template, graderTemplate }: Demanding, amounts: Amounts): number {
  const sums = [template, graderTemplate ?? template].map((each) => {
    const { memory, diskBytes } = raiseAmounts<TemplateBody>(each, amounts);
    return memory.limitBytes + diskBytes;
  });
  return Math.max(...sums);
}

/** A task that no pool of its environment has room for could only start when nothing else is there, and would hold all that. */
function withinPool(environment: Demanding, amounts: DemandedAmounts): DecidedAmounts {
  const unmet = aboveItsPool(environment, amounts);
  return unmet === null ? { amounts, unmet: [] } : { amounts: {}, unmet: [unmet] };
}

function aboveMachine(together: number, most: number): UnmetRequirement {
  return {
    requirement: 'disk',
    wanted: `the task demands ${showBytes(together)} of memory and disk together`,
    given: `files take memory on this machine, which has ${showMostBytes(most)}`,
    fix: "lower the task's demands, or use a larger machine or a cluster",
  };
}

/** `from` null: no one has said how much there is, so the environment's own amount is the most. */
type Bound = { readonly most: number; readonly from: 'operator' | 'machine' | 'all' | null };

/**
 * A demand that no node can give would wait forever, so the operator names a ceiling, or what a node has, before demands can
 * raise an amount. Shared memory is bounded by the memory that it counts within, and disk that takes memory by both together.
 */
function lowestCeiling({ name }: AmountKind, given: number, ceilings: Ceilings | undefined): Bound {
  const { operator = {}, machine = {} } = ceilings ?? {};
  const isBounded = isBoundedByMemory(name, machine);
  const bounds: readonly Bound[] = [
    { most: mostDemandable[name], from: 'all' },
    { most: operator[name] ?? Infinity, from: 'operator' },
    { most: machine[name] ?? Infinity, from: 'machine' },
  ];
  const isNamed = operator[name] !== undefined || machine[name] !== undefined || isBounded;
  return isNamed
    ? bounds.reduce((lowest, one) => (one.most < lowest.most ? one : lowest))
    : { most: given, from: null };
}

const isBoundedByMemory = (name: keyof Amounts, { diskIsMemory }: MachineAmounts): boolean =>
  name === 'shmBytes' || (name === 'diskBytes' && diskIsMemory === true);

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
    case null:
      return {
        ...demanded,
        given: `environment ${environment} has ${showMost(most)}, and the operator has set no ceiling up to which tasks get more`,
        fix: `set ceilings.${requirement} in the operator's policy, or raise sandbox.${requirement} of ${environment}`,
      };
    case 'all':
      return { ...demanded, given: `no sandbox has more than ${showMost(most)}`, fix: lower };
  }
}
