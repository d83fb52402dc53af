import type { MachineAmounts } from '../model/amounts.ts';
import { finite } from './amount-kinds.ts';
import { bakedData, type Environment, type Placement } from '../model/environment.ts';
import type { PoolOverrides } from '../model/pool-places.ts';
import { imageText } from './image-text.ts';
import type { Path, Report } from './mistakes.ts';
import { withSlash } from './compile/network.ts';
import { parseBytes, parseCpuMilli, parseDurationMs } from './quantities.ts';
import type { PolicyYaml } from './schema/operator.ts';

/** What the operator of a fleet allows, whatever an environment says. */
export type OperatorPolicy = {
  /** Patterns of images (`host`, `rootfs:/srv/*`, references) and of data folders; `*` is anything. */
  readonly images: readonly string[];
  readonly data: readonly string[];
  readonly networks: readonly string[];
  /** Addresses of package registries that environments may name, each with everything below it. */
  readonly mirrors: readonly string[];
  readonly runAs: readonly Environment['template']['runAs'][];
  readonly placement: PlacementPolicy;
  readonly ceilings: Ceilings;
  /** What one machine has for a sandbox; what is absent is not known. */
  readonly machine: MachineAmounts;
  /** Sizes of pools, in place of the sizes in the environments. */
  readonly poolOverrides: PoolOverrides;
};

/** Infinity where there is none. */
type Ceilings = {
  readonly cpuMilli: number;
  readonly memoryBytes: number;
  readonly diskBytes: number;
  readonly shmBytes: number;
  readonly processes: number;
  readonly rolloutMs: number;
  readonly hardLifeMs: number;
  readonly poolMax: number;
};

const anything = ['*'];

export function compilePolicy(yaml: PolicyYaml): OperatorPolicy {
  const { images, data, networks, mirrors, run_as, ceilings = {}, machine = {} } = yaml;
  return {
    images: images ?? anything,
    data: data ?? anything,
    networks: networks ?? ['none'],
    mirrors: (mirrors ?? []).map((each) => withSlash(URL.canParse(each) ? new URL(each).href : each)),
    runAs: run_as ?? ['user', 'root'],
    placement: compilePlacementPolicy(yaml),
    ceilings: {
      cpuMilli: upTo(ceilings.cpu, parseCpuMilli),
      memoryBytes: upTo(ceilings.memory, parseBytes),
      diskBytes: upTo(ceilings.disk, parseBytes),
      shmBytes: upTo(ceilings.shm, parseBytes),
      processes: upTo(ceilings.processes, Number),
      rolloutMs: upTo(ceilings.rollout, parseDurationMs),
      hardLifeMs: upTo(ceilings.hard_life, parseDurationMs),
      poolMax: upTo(ceilings.pool, Number),
    },
    machine: finite({
      memoryBytes: upTo(machine.memory, parseBytes),
      cpuMilli: upTo(machine.cpu, parseCpuMilli),
      diskBytes: upTo(machine.disk, parseBytes),
    }),
    poolOverrides: new Map(),
  };
}

const upTo = <Amount>(amount: Amount | undefined, parse: (amount: Amount) => number): number =>
  amount === undefined ? Number.POSITIVE_INFINITY : parse(amount);

/** One machine of one's own: everything but a network, which nobody has defined. */
export const openPolicy: OperatorPolicy = compilePolicy({});

/** Reports what of an environment its operator does not allow. */
export function checkPolicy(environment: Environment, policy: OperatorPolicy, report: Report): void {
  const { template, graderTemplate, limits, pool } = environment;
  checkTemplate(template, policy, report);
  if (graderTemplate !== undefined)
    checkTemplate(graderTemplate, policy, ([_sandbox, ...path], message) =>
      report(['grader_sandbox', ...path], message),
    );
  const { rolloutMs, hardLifeMs, poolMax } = policy.ceilings;
  checkAmounts(
    [
      [['limits', 'rollout'], limits.rolloutMs, rolloutMs, ' ms'],
      [['limits', 'hard_life'], limits.hardLifeMs, hardLifeMs, ' ms'],
      [['pool', 'max'], pool.max, poolMax, ''],
    ],
    report,
  );
}

function checkTemplate(template: Environment['template'], policy: OperatorPolicy, report: Report): void {
  checkImages(template, policy, report);
  checkData(template, policy, report);
  checkMember(policy.networks, template.network, ['sandbox', 'network'], report);
  checkMirrors(template, policy, report);
  checkMember(policy.runAs, template.runAs, ['sandbox', 'run_as'], report);
  checkPlacement(template.placement, policy.placement, report);
  const { cpuMilli, memoryBytes, diskBytes, shmBytes, processes } = policy.ceilings;
  checkAmounts(
    [
      [['sandbox', 'cpu'], template.cpu.limitMilli, cpuMilli, 'm'],
      [['sandbox', 'memory'], template.memory.limitBytes, memoryBytes, ' bytes'],
      [['sandbox', 'disk'], template.diskBytes, diskBytes, ' bytes'],
      [['sandbox', 'shm'], template.shmBytes ?? 0, shmBytes, ' bytes'],
      [['sandbox', 'processes'], template.processes, processes, ''],
    ],
    report,
  );
}

/** Folders of this machine, what data is made from included, and images. */
function checkData({ data }: Environment['template'], policy: OperatorPolicy, report: Report): void {
  for (const [index, folder] of data.entries()) {
    const named: readonly (readonly [Path, string, readonly string[]])[] =
      'source' in folder
        ? [[['source'], folder.source, policy.data]]
        : 'image' in folder
          ? folder.image === bakedData
            ? []
            : [[['image'], folder.image, policy.images]]
          : folder.build.inputs.map((input, place) => [['inputs', place], input, policy.data]);
    for (const [place, name, allowed] of named) {
      if (matchesOne(allowed, name)) continue;
      report(
        ['sandbox', 'data', index, ...place],
        `is ${name}, and the operator allows: ${allowed.join(', ')}`,
      );
    }
  }
}

/** Of images that rows name only those can be checked here that stand in the list as they are; see {@link permit}. */
function checkImages({ image }: Environment['template'], { images }: OperatorPolicy, report: Report): void {
  const named =
    image.kind === 'row'
      ? image.allow.flatMap((text, index) =>
          text.includes('*') ? [] : [[['image', 'allow', index], text] as const],
        )
      : [[['image'], imageText(image)] as const];
  for (const [place, text] of named) {
    if (matchesOne(images, text)) continue;
    report(['sandbox', ...place], `is ${text}, and the operator allows: ${images.join(', ') || 'none'}`);
  }
}

function checkMirrors(
  { mirrors = {} }: Environment['template'],
  policy: OperatorPolicy,
  report: Report,
): void {
  for (const [name, addresses] of Object.entries(mirrors)) {
    const refused = addresses.find((address) => !policy.mirrors.some((each) => address.startsWith(each)));
    if (refused === undefined) continue;
    const allowed = policy.mirrors.join(', ') || 'none';
    report(
      ['sandbox', 'network', 'mirrors', name],
      `is ${refused}, and the operator allows mirrors below: ${allowed}`,
    );
  }
}

function checkMember(allowed: readonly string[], value: string, place: Path, report: Report): void {
  if (!allowed.includes(value)) report(place, `is ${value}, and the operator allows: ${allowed.join(', ')}`);
}

type Amount = readonly [Path, number, number, string];

function checkAmounts(amounts: readonly Amount[], report: Report): void {
  for (const [place, amount, ceiling, unit] of amounts) {
    if (amount > ceiling)
      report(place, `is ${amount}${unit}, and the operator's ceiling is ${ceiling}${unit}`);
  }
}

/** Patterns of what environments may name of a cluster; of node selectors, tolerations and labels, their keys. */
type PlacementPolicy = {
  readonly runtimeClasses: readonly string[];
  readonly priorityClasses: readonly string[];
  readonly nodeSelectors: readonly string[];
  readonly tolerations: readonly string[];
  readonly labels: readonly string[];
};

function compilePlacementPolicy(yaml: PolicyYaml): PlacementPolicy {
  return {
    runtimeClasses: yaml.runtime_classes ?? anything,
    priorityClasses: yaml.priority_classes ?? anything,
    nodeSelectors: yaml.node_selectors ?? anything,
    tolerations: yaml.tolerations ?? anything,
    labels: yaml.labels ?? anything,
  };
}

/** Reports what an environment names and its operator does not allow. What it leaves out is the operator's own choice. */
function checkPlacement(placement: Placement, policy: PlacementPolicy, report: Report): void {
  for (const [place, name, allowed] of named(placement, policy)) {
    if (matchesOne(allowed, name)) continue;
    report(['sandbox', ...place], `is ${name}, and the operator allows: ${allowed.join(', ') || 'none'}`);
  }
}

type Named = readonly [Path, string, readonly string[]];

function named(placement: Placement, policy: PlacementPolicy): readonly Named[] {
  const { runtimeClass, priorityClass, nodeSelector, tolerations, labels } = placement;
  return [
    ...(runtimeClass === null ? [] : [[['runtime_class'], runtimeClass, policy.runtimeClasses] as const]),
    ...(priorityClass === null ? [] : [[['priority_class'], priorityClass, policy.priorityClasses] as const]),
    ...Object.keys(nodeSelector).map((key) => [['node_selector', key], key, policy.nodeSelectors] as const),
    ...tolerations.map(({ key }, index) => [['tolerations', index], key, policy.tolerations] as const),
    ...Object.keys(labels).map((key) => [['labels', key], key, policy.labels] as const),
  ];
}

/** Whether a text is as one of the patterns says, in which `*` stands for anything. */
export function matchesOne(patterns: readonly string[], text: string): boolean {
  return patterns.some((pattern) => matches(pattern.split('*'), text));
}

/**
 * The first part begins the text, the last ends it, and each one between is taken where it comes first: if the rest fits
 * behind a later place, it fits behind an earlier one too, so nothing is ever tried twice.
 */
function matches([first = '', ...others]: readonly string[], text: string): boolean {
  const last = others.pop();
  if (last === undefined) return text === first;
  if (!text.startsWith(first)) return false;
  let from = first.length;
  for (const part of others) {
    const found = text.indexOf(part, from);
    if (found === -1) return false;
    from = found + part.length;
  }
  return text.length - last.length >= from && text.endsWith(last);
}
