import type { Environment } from '../../src/model/environment.ts';
import type { PoolOverrides } from '../../src/pool/plans.ts';

export type ControllerSettings = {
  /** The newest version of every environment this controller was given. */
  readonly newest: readonly Environment[];
  readonly poolOverrides: PoolOverrides;
  readonly startBudget: number;
};
