import { type Amounts, usualShmBytes } from '../model/amounts.ts';
import type { TemplateBody } from '../model/environment.ts';
import type { Json } from '../model/grader.ts';
import { parseBytes, parseCpuMilli } from './quantities.ts';

/** One amount that tasks can demand: how it is written, read and shown, and what a template has of it. */
export type AmountKind = {
  readonly name: keyof Amounts;
  readonly requirement: 'memory' | 'cpu' | 'disk' | 'shm';
  readonly inWords: string;
  readonly given: (template: TemplateBody) => number;
  /** Null: the row's value is not an amount. */
  readonly read: (value: Json) => number | null;
  readonly example: string;
  readonly show: (amount: number) => string;
  readonly showMost: (amount: number) => string;
};

const mebibyte = 1024 ** 2;
export const showBytes = (bytes: number): string => `${Math.ceil(bytes / mebibyte)} MiB`;
/** Never more than there is. */
export const showMostBytes = (bytes: number): string => `${Math.floor(bytes / mebibyte)} MiB`;

const bytesWithUnit = /^\d{1,12}(?:\.\d{1,6})?(?:Ki|Mi|Gi|Ti|k|M|G|T)$/;
const cpuAmount = /^(?:\d{1,9}m|\d{1,6}(?:\.\d{1,3})?)$/;

const showCores = (milli: number): string => `${milli / 1000} cores`;

/** A bare number is refused: task files count in megabytes as often as in bytes. */
const readBytes = (value: Json): number | null =>
  typeof value === 'string' && bytesWithUnit.test(value) ? parseBytes(value) : null;

function readCpu(value: Json): number | null {
  if (typeof value === 'number') return value > 0 ? parseCpuMilli(value.toFixed(3)) : null;
  return typeof value === 'string' && cpuAmount.test(value) ? parseCpuMilli(value) : null;
}

const kinds: readonly AmountKind[] = [
  {
    name: 'memoryBytes',
    requirement: 'memory',
    inWords: 'memory',
    given: ({ memory }) => memory.limitBytes,
    read: readBytes,
    example: '4Gi',
    show: showBytes,
    showMost: showMostBytes,
  },
  {
    name: 'cpuMilli',
    requirement: 'cpu',
    inWords: 'CPU',
    given: ({ cpu }) => cpu.limitMilli,
    read: readCpu,
    example: '2 or 500m',
    show: showCores,
    showMost: showCores,
  },
  {
    name: 'diskBytes',
    requirement: 'disk',
    inWords: 'disk',
    given: ({ diskBytes }) => diskBytes,
    read: readBytes,
    example: '10Gi',
    show: showBytes,
    showMost: showMostBytes,
  },
  {
    name: 'shmBytes',
    requirement: 'shm',
    inWords: 'shared memory',
    given: shmOf,
    read: readBytes,
    example: '1Gi',
    show: showBytes,
    showMost: showMostBytes,
  },
];

export function shmOf({ shmBytes = usualShmBytes }: TemplateBody): number {
  return shmBytes;
}

/** Amounts by kind, without the absent ones. */
export function amountsOf(amountOf: (kind: AmountKind) => number | undefined): Amounts {
  const entries = kinds.map((kind) => [kind.name, amountOf(kind)] as const);
  return Object.fromEntries(entries.filter(([, amount]) => amount !== undefined));
}

/** What a template has less of than is demanded, in words. */
export function lackingAmounts(template: TemplateBody, demanded: Amounts) {
  return kinds.flatMap(({ name, requirement, inWords, given, show, showMost }) => {
    const wanted = demanded[name] ?? 0;
    if (wanted <= given(template)) return [];
    return [
      {
        requirement,
        wanted: `the task demands ${show(wanted)} of ${inWords}`,
        has: showMost(given(template)),
      },
    ];
  });
}

/** JSON has no infinity, and environments are published as JSON. */
export function finite(amounts: Amounts): Amounts {
  return Object.fromEntries(Object.entries(amounts).filter(([, amount]) => Number.isFinite(amount)));
}
