import type { DemandedAmounts } from './amounts.ts';
import type { Image } from './environment.ts';
import type { EnvironmentVersion } from './ids.ts';

/**
 * What a template has that its environment's own has not: the image that a row names, and amounts that a task demands. With the
 * environment, it is all that a controller needs to make the template.
 */
export type TemplateChoice = {
  readonly version: EnvironmentVersion;
  readonly image?: Image;
  readonly amounts?: DemandedAmounts;
  /** Of the sandboxes of graders; absent: of the policy's. */
  readonly role?: 'grader';
};
