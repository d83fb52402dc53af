import type { Environment } from '../../model/environment.ts';
import type { EnvironmentVersion } from '../../model/ids.ts';

/** Environment versions that running runs may still be pinned to, also after their files have changed. */
export interface EnvironmentStore {
  publish(environment: Environment): Promise<void>;
  load(version: EnvironmentVersion): Promise<Environment | null>;
  /** Every version published in the last 14 days. */
  published(): Promise<readonly Environment[]>;
}
