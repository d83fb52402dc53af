import type { KeyName } from '#src/adapters/redis/keys.ts';

/** What stands behind the key's own name, and what it holds. `writer`: a program that writes it without a script. */
export type KeyRow = {
  readonly rest?: string;
  readonly type: string;
  readonly what: string;
  readonly life: string;
  readonly bound: string;
  readonly writer?: string;
};
export type KeySection = Readonly<Partial<Record<KeyName, KeyRow | readonly KeyRow[]>>>;
