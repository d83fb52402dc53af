import type { Environment } from '#src/model/environment.ts';
import type { PoolOverrides } from '#src/pool/plans.ts';

export type ControllerSettings = {
  /** The newest version of every environment; another list whenever anything in it is another. */
  readonly newest: () => readonly Environment[];
  readonly poolOverrides: PoolOverrides;
  readonly startBudget: number;
};
