import {
  type Environment,
  memoryLimitOf,
  type OpenTemplate,
  type Template,
  type TemplateBody,
} from './environment.ts';
import type { EnvironmentName } from './ids.ts';

/*
 * `pool.max` counts sandboxes of the environment's own amounts: each is one place. So `pool.max` times these amounts is the most that an
 * environment takes, whatever its tasks demand.
 */

/** An operator's own sizes, by environment. */
export type PoolOverrides = ReadonlyMap<
  EnvironmentName,
  { readonly minReady?: number; readonly max?: number }
>;

type Pool = Pick<Environment['pool'], 'grader'>;

/** The places of graders. An operator who makes the whole smaller leaves at least half of it to policies; 0 means both. */
export function shareOfGraders({ grader }: Pool, most: number): number {
  if (grader === undefined || most === 0) return 0;
  return Math.max(1, Math.min(grader.max, Math.floor(most / 2)));
}

/** The other places. */
export function shareOfPolicies(pool: Pool, most: number): number {
  return Math.max(Math.min(1, most), most - shareOfGraders(pool, most));
}

/** What counts of a template, and its name among demands. */
type Measure = {
  readonly name: 'memory' | 'cpu' | 'disk';
  readonly of: (template: TemplateBody) => number;
};

const measures: readonly [Measure, ...Measure[]] = [
  { name: 'memory', of: memoryLimitOf },
  { name: 'cpu', of: ({ cpu }) => cpu.limitMilli },
  { name: 'disk', of: ({ diskBytes }) => diskBytes },
];

/** What one place has. */
const placeOf = (own: TemplateBody, { of }: Measure): number => Math.max(1, of(own));

/** How many places a sandbox takes. */
export function weightOf(own: TemplateBody, raised: TemplateBody): number {
  return Math.ceil(Math.max(...measures.map((measure) => measure.of(raised) / placeOf(own, measure)), 1));
}

/** The amount of which it has the most places. */
export function heaviestOf(own: TemplateBody, raised: TemplateBody): Measure['name'] {
  const placesOf = (measure: Measure) => measure.of(raised) / placeOf(own, measure);
  return measures.reduce((most, one) => (placesOf(one) > placesOf(most) ? one : most)).name;
}

type Templates = {
  readonly template: Template | OpenTemplate;
  readonly graderTemplate?: Template | OpenTemplate | undefined;
};

/**
 * A grader has as much as its task demands, which may be more than the share of graders: `share` sandboxes of the grader's own
 * amounts. The rest must not be what policies hold while they wait for it.
 */
export function placesForGraders(
  { template: own, graderTemplate }: Templates,
  raised: TemplateBody,
  share: number,
): number {
  if (graderTemplate === undefined) return 0;
  const lacking = measures.map((measure) => {
    const demanded = measure.of(raised) > measure.of(own) ? measure.of(raised) : 0;
    return (demanded - share * measure.of(graderTemplate)) / placeOf(own, measure);
  });
  return Math.ceil(Math.max(...lacking, 0));
}
