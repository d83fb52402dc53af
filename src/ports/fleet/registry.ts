import type { Environment, Image } from '#src/model/environment.ts';
import type { EnvironmentVersion, TemplateDigest } from '#src/model/ids.ts';

/** Environment versions that running runs may still be pinned to, also after their files have changed. */
export interface EnvironmentStore {
  publish(environment: Environment): Promise<void>;
  load(version: EnvironmentVersion): Promise<Environment | null>;
  /** Versions that begin so, of whatever environment, among those that `published` has. */
  beginning(prefix: string): Promise<readonly EnvironmentVersion[]>;
  /** Every version published in the last 14 days. */
  published(): Promise<readonly Environment[]>;
  /** Tells controllers of a template that a row made; claims and announcements do so themselves. */
  choose(template: TemplateDigest, chosen: ChosenImage): Promise<void>;
  /**
   * Templates that rows made: those chosen since `sinceMs` of an earlier answer, or all that are still of use (null).
   * One is forgotten ten minutes after it was last chosen, when nobody waits for it, announces it or has a sandbox of it.
   */
  chosen(sinceMs: number | null): Promise<ChosenTemplates>;
}

/** The image that a dataset row named, and the environment version that is completed by it. */
export type ChosenImage = { readonly version: EnvironmentVersion; readonly image: Image };

export type ChosenTemplates = {
  /** Redis' own time of this answer. */
  readonly atMs: number;
  readonly templates: readonly (ChosenImage & { readonly template: TemplateDigest })[];
};
