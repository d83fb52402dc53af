/** Amounts of a sandbox that a task can demand; each name has its unit. */
export type Amounts = {
  readonly memoryBytes?: number;
  readonly cpuMilli?: number;
  readonly diskBytes?: number;
  /** Of `/dev/shm`, which counts within the memory. */
  readonly shmBytes?: number;
};

/** Amounts of a machine. `diskIsMemory`: the disk of a sandbox takes the machine's memory. */
export type MachineAmounts = Amounts & { readonly diskIsMemory?: true };

/** Amounts that a task gets. `diskIsMemory`: its disk is added to its memory, so that files take nothing of that. */
export type DemandedAmounts = Amounts & { readonly diskIsMemory?: true };

/** The most that a task may demand; what is absent has no bound but {@link mostDemandable}. */
export type Ceilings = {
  /** What the operator allows. */
  readonly operator: Amounts;
  /** What one machine has. */
  readonly machine: MachineAmounts;
  /** The operator's size of the pool, instead of `pool.max` of the environment. */
  readonly poolMax?: number;
};

/** The item field in which a dataset row has an amount. */
export type AmountFields = { readonly [Name in keyof Amounts]?: string };

const tebibyte = 1024 ** 4;

/** Above what any machine has, so that amounts stay exact integers. */
export const mostDemandable = {
  memoryBytes: 64 * tebibyte,
  cpuMilli: 4_096_000,
  diskBytes: 1_024 * tebibyte,
  shmBytes: 64 * tebibyte,
} as const satisfies Amounts;

/** What `/dev/shm` has unless an environment says otherwise, as in containers. */
export const usualShmBytes = 64 * 1024 ** 2;
